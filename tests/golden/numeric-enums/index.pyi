"""Tools of the MCP server "hostinger". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from typing import Any, Literal, NotRequired, TypedDict, overload

class AgencyHostingListAgencyPlanOrderDiskUsageMetricsV1Input(TypedDict):
    """The arguments of the tool, by their exact names."""
    order_id: int
    time_frame_days: NotRequired[Literal[1, 7, 14, 30]]

# ptc {"tool": "mcp__hostinger__agency-hosting_listAgencyPlanOrderDiskUsageMetricsV1", "input": "AgencyHostingListAgencyPlanOrderDiskUsageMetricsV1Input"}
@overload
@_either_way
async def agency_hosting_listAgencyPlanOrderDiskUsageMetricsV1(
    *,
    order_id: int,
    time_frame_days: Literal[1, 7, 14, 30] = ...,
) -> Any:
    """Returns aggregated disk and inode usage for the Agency Plan order over the
    selected time frame, plus the plan quotas. Figures cover the whole order
    account. Values may be up to one hour stale. CPU, memory, and process usage
    are on the resource-usage-metrics endpoint.

    Args:
        order_id: Agency Plan order ID
        time_frame_days: Length of the window in days, ending now. Bucket size grows with the window.
    """
@overload
@_either_way
async def agency_hosting_listAgencyPlanOrderDiskUsageMetricsV1(arguments: AgencyHostingListAgencyPlanOrderDiskUsageMetricsV1Input, /) -> Any: ...

# ptc {"tool": "mcp__hostinger__v2_getDomainVerificationsDIRECT"}
@_either_way
async def v2_getDomainVerificationsDIRECT() -> Any:
    """Retrieve a list of pending and completed domain verifications."""
