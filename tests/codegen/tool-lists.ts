import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { readToolLists } from "../../bench/codegen.ts";

/** What real servers answer to `tools/list`, one file each: `{server, serverInfo, protocolVersion, tools}`. */
const folder = process.env.PTC_TOOL_LISTS ?? resolve(import.meta.dirname, "../../../shared/data/tools");

export const toolListsPresent = existsSync(folder);

/** To be put into the name of tests that need them. */
export const whyToolListsAreSkipped = toolListsPresent ? "" : ` (skipped: no folder ${folder})`;

export const toolLists = toolListsPresent ? readToolLists(folder) : [];
