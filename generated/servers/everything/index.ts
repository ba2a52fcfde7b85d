/**
 * The reference server, which shows every feature of the protocol
 * Tools of the MCP server "everything". Written by `ptc generate`: edits are lost.
 */

import { tool } from "../../runtime.js";

export interface EchoInput {
  /** Message to echo */
  message: string;
}

/**
 * Echoes back the input string
 * @returns any: this tool declares no output schema
 */
export const echo = tool<EchoInput, any>("mcp__everything__echo");

export interface GetAnnotatedMessageInput {
  /** Type of message to demonstrate different annotation patterns */
  messageType: "error" | "success" | "debug";
  /**
   * Whether to include an example image
   * @default false
   */
  includeImage?: boolean;
}

/**
 * Demonstrates how annotations can be used to provide metadata about content.
 * @returns any: this tool declares no output schema
 */
export const getAnnotatedMessage = tool<GetAnnotatedMessageInput, any>("mcp__everything__get-annotated-message");

export interface GetEnvInput { [k: string]: never }

/**
 * Returns all environment variables, helpful for debugging MCP server configuration
 * @returns any: this tool declares no output schema
 */
export const getEnv = tool<GetEnvInput, any>("mcp__everything__get-env");

export interface GetResourceLinksInput {
  /**
   * Number of resource links to return (1-10)
   * @default 3
   */
  count?: number;
}

/**
 * Returns up to ten resource links that reference different types of resources
 * @returns any: this tool declares no output schema
 */
export const getResourceLinks = tool<GetResourceLinksInput, any>("mcp__everything__get-resource-links");

export interface GetResourceReferenceInput {
  /** @default "Text" */
  resourceType?: "Text" | "Blob";
  /**
   * ID of the text resource to fetch
   * @default 1
   */
  resourceId?: number;
}

/**
 * Returns a resource reference that can be used by MCP clients
 * @returns any: this tool declares no output schema
 */
export const getResourceReference = tool<GetResourceReferenceInput, any>("mcp__everything__get-resource-reference");

export interface GetStructuredContentInput {
  /** Choose city */
  location: "New York" | "Chicago" | "Los Angeles";
}

export interface GetStructuredContentOutput {
  /** Temperature in celsius */
  temperature: number;
  /** Weather conditions description */
  conditions: string;
  /** Humidity percentage */
  humidity: number;
}

/** Returns structured content along with an output schema for client data validation */
export const getStructuredContent = tool<GetStructuredContentInput, GetStructuredContentOutput>("mcp__everything__get-structured-content");

export interface GetSumInput {
  /** First number */
  a: number;
  /** Second number */
  b: number;
}

/**
 * Returns the sum of two numbers
 * @returns any: this tool declares no output schema
 */
export const getSum = tool<GetSumInput, any>("mcp__everything__get-sum");

export interface GetTinyImageInput { [k: string]: never }

/**
 * Returns a tiny MCP logo image.
 * @returns any: this tool declares no output schema
 */
export const getTinyImage = tool<GetTinyImageInput, any>("mcp__everything__get-tiny-image");

export interface GzipFileAsResourceInput {
  /**
   * Name of the output file
   * @default "README.md.gz"
   */
  name?: string;
  /**
   * URL or data URI of the file content to compress
   * @default "https://raw.githubusercontent.com/modelcontextprotocol/servers/refs/heads/main/README.md"
   * @format uri
   */
  data?: string;
  /**
   * How the resulting gzipped file should be returned. 'resourceLink' returns a link to a resource that can be read later, 'resource' returns a full resource object.
   * @default "resourceLink"
   */
  outputType?: "resourceLink" | "resource";
}

/**
 * Compresses a single file using gzip compression. Depending upon the selected output type, returns either the compressed data as a gzipped resource or a resource link, allowing it to be downloaded in a subsequent request during the current session.
 * @returns any: this tool declares no output schema
 */
export const gzipFileAsResource = tool<GzipFileAsResourceInput, any>("mcp__everything__gzip-file-as-resource");

export interface PromptsGetInput {
  name: string;
  arguments?: { [k: string]: string };
}

export interface PromptsGetOutput {
  description?: string;
  messages: {
    role: "user" | "assistant";
    content: any;
  }[];
}

/** Gets the messages of a prompt of this server. In a program also `prompts.get(name, args)`. */
export const promptsGet = tool<PromptsGetInput, PromptsGetOutput>("mcp__everything__prompts/get");

export interface PromptsListInput { [k: string]: never }

export interface PromptsListOutput {
  prompts: {
    name: string;
    title?: string;
    description?: string;
    arguments?: {
      name: string;
      description?: string;
      required?: boolean;
    }[];
  }[];
}

/** Lists the prompts of this server and their arguments. In a program also `prompts.list()`. */
export const promptsList = tool<PromptsListInput, PromptsListOutput>("mcp__everything__prompts/list");

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
export const resourcesList = tool<ResourcesListInput, ResourcesListOutput>("mcp__everything__resources/list");

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
export const resourcesRead = tool<ResourcesReadInput, ResourcesReadOutput>("mcp__everything__resources/read");

export interface SimulateResearchQueryInput {
  /** The research topic to investigate */
  topic: string;
  /**
   * Simulate an ambiguous query that requires clarification (triggers input_required status)
   * @default false
   */
  ambiguous?: boolean;
}

/**
 * Simulates a deep research operation that gathers, analyzes, and synthesizes information. Demonstrates MCP task-based operations with progress through multiple stages. If 'ambiguous' is true and client supports elicitation, sends an elicitation request for clarification.
 * @returns any: this tool declares no output schema
 */
export const simulateResearchQuery = tool<SimulateResearchQueryInput, any>("mcp__everything__simulate-research-query");

export interface ToggleSimulatedLoggingInput { [k: string]: never }

/**
 * Toggles simulated, random-leveled logging on or off.
 * @returns any: this tool declares no output schema
 */
export const toggleSimulatedLogging = tool<ToggleSimulatedLoggingInput, any>("mcp__everything__toggle-simulated-logging");

export interface ToggleSubscriberUpdatesInput { [k: string]: never }

/**
 * Toggles simulated resource subscription updates on or off.
 * @returns any: this tool declares no output schema
 */
export const toggleSubscriberUpdates = tool<ToggleSubscriberUpdatesInput, any>("mcp__everything__toggle-subscriber-updates");

export interface TriggerElicitationRequestInput { [k: string]: never }

/**
 * Trigger a Request from the Server for User Elicitation
 * @returns any: this tool declares no output schema
 */
export const triggerElicitationRequest = tool<TriggerElicitationRequestInput, any>("mcp__everything__trigger-elicitation-request");

export interface TriggerLongRunningOperationInput {
  /**
   * Duration of the operation in seconds
   * @default 10
   */
  duration?: number;
  /**
   * Number of steps in the operation
   * @default 5
   */
  steps?: number;
}

/**
 * Demonstrates a long running operation with progress updates.
 * @returns any: this tool declares no output schema
 */
export const triggerLongRunningOperation = tool<TriggerLongRunningOperationInput, any>("mcp__everything__trigger-long-running-operation");

export interface TriggerUrlElicitationInput {
  /**
   * The URL the user should open
   * @format uri
   */
  url: string;
  /**
   * Message shown to the user before opening the URL
   * @default "Please open the link to complete this action."
   */
  message?: string;
  /** Optional explicit elicitation ID. Defaults to a random UUID. */
  elicitationId?: string;
  /** Controls which elicitation mechanism is used. When false (default), sends an elicitation/create request (request path). When true, throws a UrlElicitationRequiredError (MCP error code -32042) so the client handles the URL elicitation via the error path rather than waiting for a response. To clear the error, satisfy the prerequisite and retry this call with the same arguments; the retry ignores errorPath and proceeds, so the client does not loop on the same error. */
  errorPath?: boolean;
}

/**
 * Trigger a URL elicitation so the client can direct the user to a browser flow. Supports two mechanisms: the request path (elicitation/create, default) which awaits the user's response, and the error path (UrlElicitationRequiredError, -32042) which signals the client to handle URL elicitation via the error response. Set errorPath=true to use the error path.
 * @returns any: this tool declares no output schema
 */
export const triggerUrlElicitation = tool<TriggerUrlElicitationInput, any>("mcp__everything__trigger-url-elicitation");

export const resources = {
  /** All resources, and templates of URIs. */
  list: () => tool<ResourcesListInput, ResourcesListOutput>("mcp__everything__resources/list")({}),
  /** The contents of one resource. */
  read: (uri: string) => tool<ResourcesReadInput, ResourcesReadOutput>("mcp__everything__resources/read")({ uri }),
};

export const prompts = {
  /** The messages of one prompt. */
  get: (name: string, args?: Record<string, string>) => tool<PromptsGetInput, PromptsGetOutput>("mcp__everything__prompts/get")(args === undefined ? { name } : { name, arguments: args }),
  /** All prompts, and their arguments. */
  list: () => tool<PromptsListInput, PromptsListOutput>("mcp__everything__prompts/list")({}),
};
