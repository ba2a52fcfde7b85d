/** Tools of the MCP server "azure". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface FunctionsTemplateGetInput {
  /** Programming language for the Azure Functions project. Valid values: python, typescript, javascript, java, csharp, powershell. */
  language: string;
  /** Name of the function template to retrieve (e.g., HttpTrigger, BlobTrigger). Omit to list all available templates for the specified language. */
  template?: string;
  /** Optional runtime version for Java or TypeScript/JavaScript. When provided, template placeholders like {{javaVersion}} or {{nodeVersion}} are replaced automatically. See 'functions language list' for supported versions. */
  "runtime-version"?: string;
}

/**
 * Generate Azure Functions code from templates including triggers, bindings, AI agents, Durable Functions, and MCP servers or list available templates. Use for code generation for serverless functions with triggers and bindings. Without --template, lists available templates. With --template, generates function code with the specified trigger and optional input/output bindings. Select one trigger (required) and zero or more bindings. Use after functions language list and functions project get.
 * @returns any: this tool declares no output schema
 */
export const functionsTemplateGet = tool<FunctionsTemplateGetInput, any>("mcp__azure__functions_template_get");

export interface MonitorInstrumentationSendEnhancementSelectInput {
  /** The workspace path returned as sessionId from orchestrator-start. */
  "session-id": string;
  /** One or more enhancement keys, comma-separated (e.g. 'redis', 'redis,processors', 'entityframework,otlp'). */
  "enhancement-keys": string;
}

/**
 * Submit the user's enhancement selection after orchestrator-start returned status 'enhancement_available'.
 * Present the enhancement options to the user first, then call this tool with their chosen option key(s).
 * Multiple enhancements can be selected by passing a comma-separated list (e.g. 'redis,processors').
 * After this call succeeds, continue with orchestrator-next as usual.
 * @returns any: this tool declares no output schema
 */
export const monitorInstrumentationSendEnhancementSelect = tool<MonitorInstrumentationSendEnhancementSelectInput, any>("mcp__azure__monitor_instrumentation_send-enhancement-select");
