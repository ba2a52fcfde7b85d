/** Tools of the MCP server "maps". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface CountByStatusInput {
  weights?: {
    open?: number;
    closed?: number;
  };
  labels?: { [k: string]: string };
}

export interface CountByStatusOutput {
  counts: {
    open: number;
    closed: number;
  };
  byReference?: {
    open?: number;
    closed?: number;
  };
  byConstants?: {
    left?: boolean;
    right?: boolean;
  };
  onlyOne?: {
    total?: number;
  };
  requiredNames?: {
    total: number;
    [k: string]: number;
  };
  byPattern?: {
    x_total: string;
    [k: string]: string;
  };
  mixed?: {
    name: string;
    total: number;
    [k: string]: any;
  };
  closed?: {
    name?: string;
  };
  ofAnything?: {
    a?: any;
    b?: any;
  };
}

/** A record over an enum, as zod 4 writes it. */
export const countByStatus = tool<CountByStatusInput, CountByStatusOutput>("mcp__maps__count_by_status");
