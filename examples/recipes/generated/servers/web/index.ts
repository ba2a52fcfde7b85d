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

export interface ResourcesListInput { [k: string]: never }

export interface ResourcesListOutput {
  resources: {
    uri: string;
    name: string;
    title?: string;
    description?: string;
    mimeType?: string;
    size?: number;
  }[];
  resourceTemplates: {
    uriTemplate: string;
    name: string;
    title?: string;
    description?: string;
    mimeType?: string;
  }[];
}

/** Lists the resources of this server, and the templates (RFC 6570) of the URIs of those that it does not list. In a program also `resources.list()`. */
export const resourcesList = tool<ResourcesListInput, ResourcesListOutput>("mcp__web__resources/list");

export interface ResourcesReadInput {
  uri: string;
}

export interface ResourcesReadOutput {
  contents: {
    uri: string;
    mimeType?: string;
    text?: string;
    blob?: string;
  }[];
}

/** Reads a resource of this server: each of its contents is `text`, or a `blob` in base64, which `bytesOf` decodes. In a program also `resources.read(uri)`. */
export const resourcesRead = tool<ResourcesReadInput, ResourcesReadOutput>("mcp__web__resources/read");

export const resources = {
  /** All resources, and templates of URIs. */
  list: () => tool<ResourcesListInput, ResourcesListOutput>("mcp__web__resources/list")({}),
  /** The contents of one resource. */
  read: (uri: string) => tool<ResourcesReadInput, ResourcesReadOutput>("mcp__web__resources/read")({ uri }),
};
