export interface CodeToken {
  kind: "plain" | "comment" | "string" | "number" | "keyword";
  text: string;
}

const KEYWORDS =
  "as async await break case catch class const continue default delete do else export extends false finally for from function if import in instanceof interface let new null of return static super switch this throw true try type typeof undefined var void while yield";

/** Each alternative matches at least one character and cannot backtrack, so any text takes linear time. */
const TOKEN = new RegExp(
  [
    String.raw`(?<comment>\/\/[^\n]*|\/\*[^]*?(?:\*\/|$))`,
    String.raw`(?<string>"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|\`(?:[^\`\\]|\\[^])*\`?)`,
    String.raw`(?<number>\b\d[\w.]*)`,
    String.raw`(?<keyword>\b(?:${KEYWORDS.replaceAll(" ", "|")})\b)`,
  ].join("|"),
  "g",
);

/**
 * Splits JavaScript or TypeScript into lines of tokens to colour. Only for display: quotes in regular expressions and
 * templates within templates may be misread.
 */
export function tokenizeLines(code: string): CodeToken[][] {
  const lines: CodeToken[][] = [[]];
  const add = (kind: CodeToken["kind"], text: string) => {
    text.split("\n").forEach((part, index) => {
      if (index > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push({ kind, text: part });
    });
  };
  let end = 0;
  for (const match of code.matchAll(TOKEN)) {
    add("plain", code.slice(end, match.index));
    const [kind = "plain"] = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined) ?? [];
    add(kind as CodeToken["kind"], match[0]);
    end = match.index + match[0].length;
  }
  add("plain", code.slice(end));
  return lines;
}
