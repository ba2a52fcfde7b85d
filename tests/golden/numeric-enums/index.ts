/** Tools of the MCP server "hostinger". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface AgencyHostingListAgencyPlanOrderDiskUsageMetricsV1Input {
  /** Agency Plan order ID */
  order_id: number;
  /** Length of the window in days, ending now. Bucket size grows with the window. */
  time_frame_days?: 1 | 7 | 14 | 30;
}

/**
 * Returns aggregated disk and inode usage for the Agency Plan order over the
 * selected time frame, plus the plan quotas. Figures cover the whole order
 * account. Values may be up to one hour stale. CPU, memory, and process usage
 * are on the resource-usage-metrics endpoint.
 * @returns any: this tool declares no output schema
 */
export const agencyHostingListAgencyPlanOrderDiskUsageMetricsV1 = tool<AgencyHostingListAgencyPlanOrderDiskUsageMetricsV1Input, any>("mcp__hostinger__agency-hosting_listAgencyPlanOrderDiskUsageMetricsV1");

export interface V2GetDomainVerificationsDIRECTInput { [k: string]: never }

/**
 * Retrieve a list of pending and completed domain verifications.
 * @returns any: this tool declares no output schema
 */
export const v2GetDomainVerificationsDIRECT = tool<V2GetDomainVerificationsDIRECTInput, any>("mcp__hostinger__v2_getDomainVerificationsDIRECT");
