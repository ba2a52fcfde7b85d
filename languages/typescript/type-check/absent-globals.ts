import { WASM_ABSENT_GLOBALS } from "../../../protocol/platform.ts";
import {
  type Checker,
  isIdentifier,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isTypeNode,
  isTypeOfExpression,
  nodeAt,
  type SourceFile,
} from "../typescript-api.ts";
import { PROGRAM_PATH } from "./project.ts";
import type { TypeMistake } from "./rules.ts";

/** The most uses that are looked up, because each asks TypeScript's process. */
const MAX_LOOKED_UP = 50;

const INSTEAD: Readonly<Record<string, string>> = {
  Intl: "toLocaleString, toLocaleDateString, toLocaleTimeString and localeCompare take locales and options here",
  fetch: "no engine has a network: call a tool",
};

/** Uses of globals that Node.js has and the platform `wasm` has not, in the program's order. */
export async function findAbsentGlobals(file: SourceFile, checker: Checker): Promise<TypeMistake[]> {
  const found: TypeMistake[] = [];
  const uses = [...file.text.matchAll(new RegExp(`\\b(?:${WASM_ABSENT_GLOBALS.join("|")})\\b`, "g"))];
  for (const { 0: name, index: start } of uses.slice(0, MAX_LOOKED_UP)) {
    const node = nodeAt(file, start, start + name.length);
    if (!isIdentifier(node) || node.text !== name || node.getStart() !== start) continue;
    const { parent } = node;
    const isMember =
      (isPropertyAccessExpression(parent) && parent.name === node) ||
      (isPropertyAssignment(parent) && parent.name === node);
    if (isMember || isTypeOfExpression(parent) || isTypeNode(parent)) continue;
    const symbol = await checker.getSymbolAtLocation(node);
    // A name that the program declares is the program's.
    if (symbol?.declarations.some(({ path }) => path === PROGRAM_PATH) === true) continue;
    const instead = INSTEAD[name];
    const text = `'${name}' is not in this engine (sandbox.engine: wasm)${instead === undefined ? "" : `; ${instead}`}`;
    found.push({ start, text, tool: undefined });
  }
  return found;
}
