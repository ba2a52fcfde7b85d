import type { CodeSyntax } from "../../execution/prepare/code-syntax.ts";

export interface CodeToken {
  kind: "plain" | "comment" | "string" | "number" | "keyword";
  text: string;
}

/** Splits a program into lines of tokens to colour. Only for display. */
export function tokenizeLines(code: string, { comment, string, keywords }: CodeSyntax): CodeToken[][] {
  const token = new RegExp(
    [
      `(?<comment>${comment})`,
      `(?<string>${string})`,
      String.raw`(?<number>\b\d[\w.]*)`,
      String.raw`(?<keyword>\b(?:${keywords.replaceAll(" ", "|")})\b)`,
    ].join("|"),
    "g",
  );
  const lines: CodeToken[][] = [[]];
  const add = (kind: CodeToken["kind"], text: string) => {
    text.split("\n").forEach((part, index) => {
      if (index > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push({ kind, text: part });
    });
  };
  let end = 0;
  for (const match of code.matchAll(token)) {
    add("plain", code.slice(end, match.index));
    const [kind = "plain"] = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined) ?? [];
    add(kind as CodeToken["kind"], match[0]);
    end = match.index + match[0].length;
  }
  add("plain", code.slice(end));
  return lines;
}
