/** Tools of the MCP server "notion". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface ApiGetSelfInput { [k: string]: never }

/**
 * Notion | Retrieve your token's bot user
 * Error Responses:
 * 400: Bad request
 * @returns any: this tool declares no output schema
 */
export const apiGetSelf = tool<ApiGetSelfInput, any>("mcp__notion__API-get-self");

export interface ApiGetUserInput {
  /** @format uuid */
  user_id: string;
}

/**
 * Notion | Retrieve a user
 * Error Responses:
 * 400: 400
 * @returns any: this tool declares no output schema
 */
export const apiGetUser = tool<ApiGetUserInput, any>("mcp__notion__API-get-user");

export interface ApiRetrieveAPageInput {
  /** Identifier for a Notion page */
  page_id: string;
  /** A list of page property value IDs associated with the page. Use this param to limit the response to a specific page property value or values. To retrieve multiple properties, specify each page property ID. For example: `?filter_properties=iAk8&filter_properties=b7dh`. */
  filter_properties?: string;
}

/**
 * Notion | Retrieve a page
 * Error Responses:
 * 400: Bad request
 * @returns any: this tool declares no output schema
 */
export const apiRetrieveAPage = tool<ApiRetrieveAPageInput, any>("mcp__notion__API-retrieve-a-page");
