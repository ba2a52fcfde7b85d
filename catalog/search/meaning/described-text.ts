import type { SearchableTool } from "../searchable-text.ts";

/** What models of embeddings read is bounded by them, and more of it blurs what a tool is for. */
const MAX_DESCRIPTION_CHARS = 2_000;
const MAX_NAME_CHARS = 512;

/**
 * What is said of a tool where it is compared by meaning: its name in words, its title and its description. It depends on
 * the tool's definition alone, so that its digest stands for what was embedded.
 */
export function describedText({ name, title = "", description = "" }: SearchableTool): string {
  const named = [inWords(name.slice(0, MAX_NAME_CHARS)), title.slice(0, MAX_NAME_CHARS)]
    .filter((each) => each.trim() !== "")
    .join(", ");
  return `${named}: ${description.slice(0, MAX_DESCRIPTION_CHARS)}`.trim();
}

/** `getDocument_byId` as `get Document by Id`. */
function inWords(name: string): string {
  return name
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2")
    .replace(/[_.-]+/g, " ")
    .trim();
}
