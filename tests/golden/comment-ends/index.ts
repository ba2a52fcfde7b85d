/** Tools of the MCP server "playwright". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface BrowserDropInput {
  /** Human-readable element description used to obtain permission to interact with the element */
  element?: string;
  /** Exact target element reference from the page snapshot, or a unique element selector */
  target: string;
  /** Absolute paths to files to drop onto the element. */
  paths?: string[];
  /** Data to drop, as a map of MIME type to string value (e.g. {"text/plain": "hello", "text/uri-list": "https://example.com"}). */
  data?: { [k: string]: string };
}

/**
 * Drop files or MIME-typed data onto an element, as if dragged from outside the page. At least one of "paths" or "data" must be provided.
 * @returns any: this tool declares no output schema
 */
export const browserDrop = tool<BrowserDropInput, any>("mcp__playwright__browser_drop");

export interface BrowserEvaluateInput {
  /** Human-readable element description used to obtain permission to interact with the element */
  element?: string;
  /** Exact target element reference from the page snapshot, or a unique element selector */
  target?: string;
  /** () => { /* code *\/ } or (element) => { /* code *\/ } when element is provided */
  function: string;
  /** File name to save the result to. Relative file names are resolved against the workspace root. If not provided, result is returned as text. */
  filename?: string;
}

/**
 * Evaluate JavaScript expression on page or element
 * @returns any: this tool declares no output schema
 */
export const browserEvaluate = tool<BrowserEvaluateInput, any>("mcp__playwright__browser_evaluate");

export interface BrowserRouteInput {
  /** URL pattern to match (e.g., "**\/api/users", "**\/*.{png,jpg}") */
  pattern: string;
  /** HTTP status code to return (default: 200) */
  status?: number;
  /** Response body (text or JSON string) */
  body?: string;
  /** Content-Type header (e.g., "application/json", "text/html") */
  contentType?: string;
  /** Headers to add in "Name: Value" format */
  headers?: string[];
  /** Comma-separated list of header names to remove from request */
  removeHeaders?: string;
}

/**
 * Set up a route to mock network requests matching a URL pattern
 * @returns any: this tool declares no output schema
 */
export const browserRoute = tool<BrowserRouteInput, any>("mcp__playwright__browser_route");
