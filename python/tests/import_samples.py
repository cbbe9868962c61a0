"""Small configurations in the forms of other simulators, with the values that these ship."""

from collections.abc import Mapping
from pathlib import Path

MQSIM_HOST = {
    "PCIe_Lane_Bandwidth": "1.0", "PCIe_Lane_Count": "4", "SATA_Processing_Delay": "400000",
    "Enable_ResponseTime_Logging": "false", "ResponseTime_Logging_Period_Length": "1000000",
}  # fmt: skip
MQSIM_DEVICE = {
    "Seed": "321", "Enabled_Preconditioning": "false", "Memory_Type": "FLASH", "HostInterface_Type": "NVME",
    "IO_Queue_Depth": "65535", "Queue_Fetch_Size": "512", "Caching_Mechanism": "ADVANCED",
    "Data_Cache_Sharing_Mode": "SHARED", "Data_Cache_Capacity": "268435456", "Data_Cache_DRAM_Row_Size": "8192",
    "Data_Cache_DRAM_Data_Rate": "100", "Data_Cache_DRAM_Data_Busrt_Size": "1", "Data_Cache_DRAM_tRCD": "13",
    "Data_Cache_DRAM_tCL": "13", "Data_Cache_DRAM_tRP": "13", "Address_Mapping": "PAGE_LEVEL",
    "Ideal_Mapping_Table": "false", "CMT_Capacity": "2097152", "CMT_Sharing_Mode": "SHARED",
    "Plane_Allocation_Scheme": "CWDP", "Transaction_Scheduling_Policy": "PRIORITY_OUT_OF_ORDER",
    "Overprovisioning_Ratio": "0.07", "GC_Exec_Threshold": "0.05", "GC_Block_Selection_Policy": "RGA",
    "Use_Copyback_for_GC": "false", "Preemptible_GC_Enabled": "false", "GC_Hard_Threshold": "0.005",
    "Dynamic_Wearleveling_Enabled": "true", "Static_Wearleveling_Enabled": "true",
    "Static_Wearleveling_Threshold": "100", "Preferred_suspend_erase_time_for_read": "700000",
    "Preferred_suspend_erase_time_for_write": "700000", "Preferred_suspend_write_time_for_read": "100000",
    "Flash_Channel_Count": "8", "Flash_Channel_Width": "1", "Channel_Transfer_Rate": "333",
    "Chip_No_Per_Channel": "4", "Flash_Comm_Protocol": "NVDDR2",
}  # fmt: skip
MQSIM_FLASH = {
    "Flash_Technology": "MLC", "CMD_Suspension_Support": "ERASE", "Page_Read_Latency_LSB": "75000",
    "Page_Read_Latency_CSB": "75000", "Page_Read_Latency_MSB": "75000", "Page_Program_Latency_LSB": "750000",
    "Page_Program_Latency_CSB": "750000", "Page_Program_Latency_MSB": "750000", "Block_Erase_Latency": "3800000",
    "Block_PE_Cycles_Limit": "10000", "Suspend_Erase_Time": "700000", "Suspend_Program_Time": "100000",
    "Die_No_Per_Chip": "2", "Plane_No_Per_Die": "2", "Block_No_Per_Plane": "2048", "Page_No_Per_Block": "256",
    "Page_Capacity": "8192", "Page_Metadat_Capacity": "448",
}  # fmt: skip
FLOW = {
    "Priority_Class": "HIGH", "Device_Level_Data_Caching_Mode": "WRITE_CACHE", "Channel_IDs": "0,1",
    "Initial_Occupancy_Percentage": "75", "Working_Set_Percentage": "50", "Synthetic_Generator_Type": "QUEUE_DEPTH",
    "Read_Percentage": "30", "Address_Distribution": "RANDOM_UNIFORM", "Percentage_of_Hot_Region": "0",
    "Generated_Aligned_Addresses": "true", "Address_Alignment_Unit": "16", "Request_Size_Distribution": "FIXED",
    "Average_Request_Size": "8", "Variance_Request_Size": "0", "Seed": "798", "Average_No_of_Reqs_in_Queue": "16",
    "Stop_Time": "0", "Total_Requests_To_Generate": "500",
}  # fmt: skip
SSDSIM = """\
# a comment
dram capacity = 131072;   # bytes
chip number[0] = 1;
channel number = 8;
chip number = 8;
die number = 2;
plane number = 2;
block number = 2048;
page number = 64;
page capacity = 2048;
subpage capacity = 512;
t_PROG = 200000;          # ns
t_BERS = 1500000;
t_R = 20000;
t_WC = 25;
t_RC = 25;
t_REA = 30;
overprovide = 0.10;
gc hard threshold = 0.05;
allocation = 1;
static_allocation = 5;
aged = 0;
"""
FEMU = (
    "-device femu,devsz_mb=12288,femu_mode=1,secsz=512,secs_per_pg=8,pgs_per_blk=256,blks_per_pl=256,pls_per_lun=1,"
    "luns_per_ch=8,nchs=8,pg_rd_lat=40000,pg_wr_lat=200000,blk_er_lat=2000000,ch_xfer_lat=0,gc_thres_pcent=75,"
    "gc_thres_pcent_high=95"
)
FEMU_SCRIPT = """\
nchs=8 # channels
ssd_size=12288
FEMU_OPTIONS="-device femu"
FEMU_OPTIONS=${FEMU_OPTIONS}",devsz_mb=${ssd_size}"
FEMU_OPTIONS=${FEMU_OPTIONS}",nchs=${nchs}"
qemu -drive file=x,if=none,id=hd0 -net nic,model=virtio
"""
NVMEVIRT = """\
#ifndef _CONFIG_H
#define _CONFIG_H
#define SAMSUNG_970PRO 1
#define CELL_MODE_MLC 2
/* the model is of the Makefile */
#if (BASE_SSD == INTEL_OPTANE)
#define MDTS (5)
#elif (BASE_SSD == SAMSUNG_970PRO)
#define MDTS (6)
#define NS_SSD_TYPE_0 SSD_TYPE_CONV
#define CELL_MODE (CELL_MODE_MLC)
#define NAND_CHANNELS (8)
#define LUNS_PER_NAND_CH (2)
#define FLASH_PAGE_SIZE KB(32)
#define ONESHOT_PAGE_SIZE (FLASH_PAGE_SIZE * 1)
#define BLKS_PER_PLN (8192)
#define MAX_CH_XFER_SIZE KB(4)
#define NAND_CHANNEL_BANDWIDTH (800ull) // MB/s
#define PCIE_BANDWIDTH (3360ull)
#define NAND_READ_LATENCY_LSB (36013 - 6000)
#define NAND_READ_LATENCY_MSB (36013 + 6000)
#define NAND_PROG_LATENCY (185000)
#define NAND_ERASE_LATENCY (0)
#define FW_4KB_READ_LATENCY (21500)
#define FW_READ_LATENCY (30490)
#define FW_WBUF_LATENCY0 (4000)
#define FW_WBUF_LATENCY1 (460)
#define OP_AREA_PERCENT (0.07)
#define GLOBAL_WB_SIZE (NAND_CHANNELS * LUNS_PER_NAND_CH * ONESHOT_PAGE_SIZE * 2)
#define WRITE_EARLY_COMPLETION 1
#define FANCY(x) (x)
#define NEW_KEY 7
#endif
#endif
"""


def mqsim(**changes: str) -> str:
    """An ssdconfig.xml with changes; an empty value leaves a key out."""
    return (
        '<?xml version="1.0" encoding="us-ascii"?>\n<Execution_Parameter_Set>\n'
        f"<Host_Parameter_Set>{_tags(MQSIM_HOST, changes)}</Host_Parameter_Set>\n"
        f"<Device_Parameter_Set>{_tags(MQSIM_DEVICE, changes)}\n"
        f"<Flash_Parameter_Set>{_tags(MQSIM_FLASH, changes)}</Flash_Parameter_Set>\n"
        "</Device_Parameter_Set>\n</Execution_Parameter_Set>\n"
    )


def workload(*flows: Mapping[str, str]) -> str:
    """A workload.xml with flows; one with File_Path is of a trace."""
    bodies = []
    for flow in flows:
        kind = "Trace_Based" if "File_Path" in flow else "Synthetic"
        bodies.append(f"<IO_Flow_Parameter_Set_{kind}>{_tags(flow, {})}</IO_Flow_Parameter_Set_{kind}>")
    return f"<MQSim_IO_Scenarios><IO_Scenario>{''.join(bodies)}</IO_Scenario></MQSim_IO_Scenarios>"


def _tags(values: Mapping[str, str], changes: Mapping[str, str]) -> str:
    kept = {key: changes.get(key, value) for key, value in values.items()}
    return "".join(f"\n<{key}>{value}</{key}>" for key, value in kept.items() if value)


SAMPLES = {
    "mqsim": ("ssdconfig.xml", mqsim()),
    "ssdsim": ("page.parameters", SSDSIM),
    "nvmevirt": ("ssd_config.h", NVMEVIRT),
    "femu": ("run.sh", FEMU_SCRIPT),
}


def sample(kind: str, folder: Path) -> Path:
    name, text = SAMPLES[kind]
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
