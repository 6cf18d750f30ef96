"""Files as hwloc writes them, of machines that nobody has built: all synthetic."""

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'

VERSION_2 = f"""{HEAD}<topology version="2.0">
<object type="Machine" os_index="0" cpuset="0x0000000f" allowed_cpuset="0x0000000e"
        allowed_nodeset="0x00000001" gp_index="1">
  <info name="DMIProductName" value="Board 5"/><info name="HostName" value="two"/>
  <info name="Architecture" value="aarch64"/>
  <object type="Package" os_index="36" cpuset="0x0000000f">
    <info name="CPUModel" value="Synthetic  2"/>
    <object type="NUMANode" os_index="0" cpuset="0x0000000f" local_memory="4194304">
      <page_type size="4096" count="0"/><page_type size="2097152" count="1"/>
    </object>
    <object type="NUMANode" os_index="8" cpuset="0x0" local_memory="1048576" subtype="GPUMemory"/>
    <object type="L3Cache" depth="3" cache_type="0" cpuset="0x0000000f">
      <object type="L1iCache" depth="9" cache_type="2" cpuset="0x00000003">
        <object type="Core" os_index="0" cpuset="0x00000003">
          <object type="PU" os_index="0"/><object type="PU" os_index="1"/>
        </object></object>
      <object type="Core" os_index="0" cpuset="0x00000004"><object type="PU" os_index="2"/></object>
    </object>
    <object type="PU" os_index="3" cpuset="0x00000008"/>
  </object>
</object>
<distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
  <indexes length="4">8 0 </indexes><u64values length="9">10 80 </u64values>
  <u64values length="9">81 11 </u64values>
</distances2>
<cpukind cpuset="0x00000003"><info name="LinuxCapacity" value="1024"/></cpukind>
<cpukind cpuset="0x00000004"><info name="LinuxCapacity" value="300"/></cpukind>
</topology>"""

VERSION_1 = f"""{HEAD}<topology>
<object type="Machine" cpuset="0x00000007" online_cpuset="0x00000005" allowed_cpuset="0x00000005">
  <distances nbobjs="2" relative_depth="1" latency_base="10.000000">
    <latency value="1.000000"/><latency value="2.100000"/>
    <latency value="2.100000"/><latency value="1.000000"/>
  </distances>
  <object type="NUMANode" os_index="1" cpuset="0x00000003" local_memory="2048">
    <object type="Socket" os_index="0"><object type="Cache" depth="2" cache_type="0">
      <object type="Core" os_index="0">
        <object type="PU" os_index="0"/><object type="PU" os_index="1"/>
      </object></object></object>
  </object>
  <object type="NUMANode" os_index="0" cpuset="0x00000004" local_memory="1024">
    <object type="Socket" os_index="0"><object type="PU" os_index="2"/></object>
  </object>
</object></topology>"""
