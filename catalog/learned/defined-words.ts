import { isObject } from "../../base/json.ts";

const MAX_WORDS = 500;
const MAX_WORD_CHARS = 40;
const MAX_DEPTH = 16;

/**
 * The texts that a tool's input schema lists as choices (`enum`, `const`). A result may say the same words again, and then they
 * tell nothing that the definition does not tell.
 */
export function definedWords(inputSchema: unknown): ReadonlySet<string> {
  const words = new Set<string>();
  const add = (value: unknown): void => {
    const isWord = typeof value === "string" && /^[A-Za-z][A-Za-z0-9_ -]*$/.test(value);
    if (isWord && value.length <= MAX_WORD_CHARS && words.size < MAX_WORDS) words.add(value);
  };
  const walk = (schema: unknown, depth: number): void => {
    if (depth > MAX_DEPTH) return;
    if (Array.isArray(schema)) for (const each of schema) walk(each, depth + 1);
    if (!isObject(schema) || Array.isArray(schema)) return;
    if (Array.isArray(schema.enum)) for (const each of schema.enum) add(each);
    add(schema.const);
    for (const [name, each] of Object.entries(schema))
      if (name !== "enum" && name !== "default" && name !== "examples") walk(each, depth + 1);
  };
  walk(inputSchema, 0);
  return words;
}
