/** Tools of the MCP server "figma-console". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface FigmaCreateChildInput {
  /** The parent node ID */
  parentId: string;
  /** Type of node to create */
  nodeType: "RECTANGLE" | "ELLIPSE" | "FRAME" | "TEXT" | "LINE";
  /** Properties for the new node */
  properties?: {
    /** Name for the new node */
    name?: string;
    /** X position within parent */
    x?: number;
    /** Y position within parent */
    y?: number;
    /** Width (default: 100) */
    width?: number;
    /** Height (default: 100) */
    height?: number;
    /** Fill colors (hex strings) */
    fills?: {
      type: "SOLID";
      color: string;
    }[];
    /** Text content (for TEXT nodes only) */
    text?: string;
  };
}

/**
 * Create a new child node inside a parent container. Always place inside an existing Section or Frame — never on a bare page. If no suitable parent exists, create a Section first. Clean up any empty or orphaned nodes if the operation fails.
 * @returns any: this tool declares no output schema
 */
export const figmaCreateChild = tool<FigmaCreateChildInput, any>("mcp__figma_console__figma_create_child");

export interface FigmaSetFillsInput {
  /** The node ID to modify */
  nodeId: string;
  /** Array of fill objects */
  fills: {
    /** Fill type (currently only SOLID supported) */
    type: "SOLID";
    /** Hex color string (e.g., '#FF0000', '#FF000080' for transparency). Optional when variableId is provided. */
    color?: string;
    /** Opacity 0-1 (default: 1) */
    opacity?: number;
    /** Bind this fill's color to a Figma variable by id (e.g. 'VariableID:1:23' from figma_get_variables). When set, the variable drives the color. Import library variables first via figma_import_library_variable. */
    variableId?: string;
  }[];
}

/**
 * Set the fill colors on a node. Accepts hex color strings (e.g., '#FF0000'). To bind a fill to a design token / color variable, pass that fill's variableId — the variable drives the color and this works on any Figma plan via the bridge (no raw figma_execute needed).
 * @returns any: this tool declares no output schema
 */
export const figmaSetFills = tool<FigmaSetFillsInput, any>("mcp__figma_console__figma_set_fills");
