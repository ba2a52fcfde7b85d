/** Tools of the MCP server "notion". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface ApiCreateADataSourceInput {
  parent: ApiCreateADataSourcePageIdParentRequest | string;
  /** Property schema of data source */
  properties: { [k: string]: unknown } | string;
  title?: (ApiCreateADataSourceRichTextRequest | string | { [k: string]: unknown })[];
}

export interface ApiCreateADataSourcePageIdParentRequest {
  /** @format uuid */
  page_id: string;
  [k: string]: unknown;
}

export interface ApiCreateADataSourceRichTextRequest {
  text: {
    content: string;
    link?: { [k: string]: unknown } | null;
  };
  type?: "text";
}

/**
 * Notion | Create a data source
 * Error Responses:
 * 400: Bad request
 * @returns any: this tool declares no output schema
 */
export const apiCreateADataSource = tool<ApiCreateADataSourceInput, any>("mcp__notion__API-create-a-data-source");

export interface ApiPatchBlockChildrenInput {
  /** Identifier for a [block](ref:block). Also accepts a [page](ref:page) ID. */
  block_id: string;
  /** Child content to append to a container block as an array of [block objects](ref:block) */
  children: (ApiPatchBlockChildrenBlockObjectRequest | string | { [k: string]: unknown })[];
  /** The ID of the existing block that the new block should be appended after. */
  after?: string;
}

export type ApiPatchBlockChildrenBlockObjectRequest = ApiPatchBlockChildrenParagraphBlockRequest | ApiPatchBlockChildrenBulletedListItemBlockRequest;

export interface ApiPatchBlockChildrenParagraphBlockRequest {
  paragraph?: {
    rich_text: ApiPatchBlockChildrenRichTextRequest[];
  };
  type?: "paragraph";
}

export interface ApiPatchBlockChildrenBulletedListItemBlockRequest {
  bulleted_list_item?: {
    rich_text: ApiPatchBlockChildrenRichTextRequest[];
  };
  type?: "bulleted_list_item";
}

export type ApiPatchBlockChildrenRichTextRequest = ApiCreateADataSourceRichTextRequest;

/**
 * Notion | Append block children
 * Error Responses:
 * 400: Bad request
 * @returns any: this tool declares no output schema
 */
export const apiPatchBlockChildren = tool<ApiPatchBlockChildrenInput, any>("mcp__notion__API-patch-block-children");

export interface ApiUpdateADataSourceInput {
  /** Identifier for a Notion data source */
  data_source_id: string;
  title?: (ApiUpdateADataSourceRichTextRequest | string | { [k: string]: unknown })[];
  description?: (ApiUpdateADataSourceRichTextRequest | string | { [k: string]: unknown })[];
  /** Property schema updates */
  properties?: { [k: string]: unknown } | string;
}

export type ApiUpdateADataSourceRichTextRequest = ApiCreateADataSourceRichTextRequest;

/**
 * Notion | Update a data source
 * Error Responses:
 * 400: Bad request
 * @returns any: this tool declares no output schema
 */
export const apiUpdateADataSource = tool<ApiUpdateADataSourceInput, any>("mcp__notion__API-update-a-data-source");
