document.querySelectorAll("th button").forEach(button=>button.addEventListener("click",()=>{
const head=button.parentElement,row=head.parentElement,body=row.closest("table").tBodies[0];
const at=[...row.cells].indexOf(head),up=head.getAttribute("aria-sort")!=="ascending";
for(const cell of row.cells)cell.removeAttribute("aria-sort");
head.setAttribute("aria-sort",up?"ascending":"descending");
const key=line=>line.cells[at].dataset.value??line.cells[at].textContent;
const order=(a,b)=>{const x=key(a),y=key(b),n=Number(x),m=Number(y);
return x!==""&&y!==""&&!isNaN(n)&&!isNaN(m)?n-m:x.localeCompare(y)};
body.append(...[...body.rows].sort((a,b)=>up?order(a,b):order(b,a)));
}));
