import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

type ListName =
  | "texts"
  | "numbers"
  | "brokenJson"
  | "keys"
  | "serverKeys"
  | "yamlNumbers"
  | "yamlWords"
  | "times"
  | "toolNames"
  | "nameParts"
  | "tokens"
  | "propertyNames"
  | "values"
  | "requestTargets"
  | "secrets";

/** The lists of words.yaml. */
export const LISTS: Readonly<Record<ListName, readonly string[]>> = parse(
  readFileSync(join(import.meta.dirname, "words.yaml"), "utf8"),
);
