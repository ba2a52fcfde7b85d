/**
 * Fetches pages and JSON
 * Tools of the MCP server "web". Written by `ptc generate`: edits are lost.
 */

import { tool } from "../../runtime.js";

export interface FetchHtmlInput {
  /** URL of the website to fetch */
  url: string;
  /** Optional headers to include in the request */
  headers?: { [k: string]: unknown };
}

/**
 * Fetch a website and return the content as HTML
 * @returns any: this tool declares no output schema
 */
export const fetchHtml = tool<FetchHtmlInput, any>("mcp__web__fetch_html");

export interface FetchJsonInput {
  /** URL of the JSON to fetch */
  url: string;
  /** Optional headers to include in the request */
  headers?: { [k: string]: unknown };
}

/**
 * Fetch a JSON file from a URL
 * @returns any: this tool declares no output schema
 */
export const fetchJson = tool<FetchJsonInput, any>("mcp__web__fetch_json");

export interface FetchMarkdownInput {
  /** URL of the website to fetch */
  url: string;
  /** Optional headers to include in the request */
  headers?: { [k: string]: unknown };
}

/**
 * Fetch a website and return the content as Markdown
 * @returns any: this tool declares no output schema
 */
export const fetchMarkdown = tool<FetchMarkdownInput, any>("mcp__web__fetch_markdown");

export interface FetchTxtInput {
  /** URL of the website to fetch */
  url: string;
  /** Optional headers to include in the request */
  headers?: { [k: string]: unknown };
}

/**
 * Fetch a website, return the content as plain text (no HTML)
 * @returns any: this tool declares no output schema
 */
export const fetchTxt = tool<FetchTxtInput, any>("mcp__web__fetch_txt");
