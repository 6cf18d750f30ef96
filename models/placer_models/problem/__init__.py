"""Problems as solvers see them: nodes and pods in integers, ids counted; no judge reads them."""
