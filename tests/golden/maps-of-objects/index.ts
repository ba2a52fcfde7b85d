/** Tools of the MCP server "hubspot". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface HubspotBatchCreateObjectsInput {
  /** The type of HubSpot object to create. Valid values include: appointments, companies, contacts, courses, deals, leads, line_items, listings, marketing_events, meetings, orders, postal_mail, products, quotes, services, subscriptions, tickets, users. For custom objects, use the hubspot-get-schemas tool to get the objectType. */
  objectType: string;
  /** Array of objects to create (maximum 100 per batch) */
  inputs: {
    /** Object properties as key-value pairs */
    properties: { [k: string]: string };
    /** Optional list of associations to create with this object */
    associations?: {
      types: {
        associationCategory: "HUBSPOT_DEFINED" | "USER_DEFINED" | "INTEGRATOR_DEFINED";
        associationTypeId: number;
      }[];
      to: {
        /** ID of the object to associate with */
        id: string;
      };
    }[];
    /** Optional trace ID for debugging purposes */
    objectWriteTraceId?: string;
  }[];
}

/**
 * 🛡️ Guardrails:
 *       1. Data Modification Warning: This tool modifies HubSpot data. Only use when the user has explicitly requested to update their CRM.
 *
 *     🎯 Purpose:
 *       1. Creates multiple HubSpot objects of the same objectType in a single API call, optimizing for bulk operations.
 *
 *     📋 Prerequisites:
 *       1. Use the hubspot-get-user-details tool to get the OwnerId and UserId if you don't have that already.
 *       2. Use the hubspot-list-objects tool to sample existing objects for the object type.
 *       3. Use the hubspot-get-association-definitions tool to identify valid association types before creating associations.
 * @returns any: this tool declares no output schema
 */
export const hubspotBatchCreateObjects = tool<HubspotBatchCreateObjectsInput, any>("mcp__hubspot__hubspot-batch-create-objects");
