/** Tools of the MCP server "google-drive". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface ManageAccountsInput {
  /** Which account-lifecycle operation to perform. */
  action: "list" | "add" | "remove" | "set_default";
  /** Account alias. Required for add/remove/set_default. Must match /^[a-z0-9][a-z0-9_-]{0,31}$/ and not be reserved (e.g. 'default', 'all', '*'). Pass JSON null with set_default to clear the current default. */
  account_id?: string | null;
}

/**
 * Manage connected Google accounts. action='list' shows all connected accounts (no secrets). action='add' starts an OAuth flow for a new account identified by account_id (alias). action='remove' deletes local tokens for an account. action='set_default' picks which account is used when tool calls omit the `account` parameter.
 * @returns any: this tool declares no output schema
 */
export const manageAccounts = tool<ManageAccountsInput, any>("mcp__google_drive__manage_accounts");

export interface SearchInput {
  /** Search query. When rawQuery=true, this is passed directly to the Google Drive API as the q parameter. */
  query: string;
  /** Results per page (default 50, max 100) */
  pageSize?: number;
  /** Token for next page of results */
  pageToken?: string;
  /** If true, pass query directly to Google Drive API without wrapping in fullText contains. Enables date filters, mimeType filters, etc. */
  rawQuery?: boolean;
  /**
   * Sort order for results. Keys without 'desc' sort ascending, so 'modifiedTime' is oldest-first. When paging, repeat the same value on every pageToken call.
   * @default "modifiedTime desc"
   */
  orderBy?: "modifiedTime desc" | "modifiedTime" | "createdTime desc" | "createdTime" | "recency desc" | "recency" | "name" | "name_natural";
  /** Alias of the Google account to target. Optional — defaults to the session/global default account, or the sole authenticated account. Run manage_accounts list to see available aliases. */
  account?: string;
}

/**
 * Search for files in Google Drive. Results are sorted most-recently-modified first by default; use orderBy for a different order. Set rawQuery=true to pass a raw Google Drive API query supporting operators like modifiedTime, createdTime, mimeType, name contains, etc.
 * @returns any: this tool declares no output schema
 */
export const search = tool<SearchInput, any>("mcp__google_drive__search");
