/**
 * A reader of TypeScript's tokens, enough to tell code from comments and strings: what a hostile server would have to
 * break out of. Independent of the code under test.
 */

export interface ModuleToken {
  kind: "word" | "string" | "comment" | "mark";
  text: string;
}

export function tokenizeModule(source: string): ModuleToken[] {
  const tokens: ModuleToken[] = [];
  const pattern =
    /\/\*(?<comment>[\s\S]*?)\*\/|(?<string>"(?:[^"\\\r\n\u2028\u2029]|\\[^\r\n\u2028\u2029])*")|(?<word>[A-Za-z_$0-9][\w$.+-]*)|(?<mark>\.\.\.|=>|[{}()[\]<>:;,|&=?*-])|\/\/ (?:unwrapped|not available|observed in \d+ calls?)(?=\n| \/\/)|\s+/gy;
  let at = 0;
  while (at < source.length) {
    pattern.lastIndex = at;
    const match = pattern.exec(source);
    if (match === null) throw new Error(`unexpected text: ${JSON.stringify(source.slice(at, at + 60))}`);
    at = pattern.lastIndex;
    for (const kind of ["comment", "string", "word", "mark"] as const) {
      const text = match.groups?.[kind];
      if (text !== undefined) tokens.push({ kind, text });
    }
  }
  return tokens;
}

export type Statement =
  | { kind: "import" }
  | { kind: "type"; name: string }
  | { kind: "tool"; name: string; calls: string };

const SCALARS = new Set([
  "any",
  "unknown",
  "never",
  "string",
  "number",
  "boolean",
  "null",
  "true",
  "false",
  "k",
]);

/** Reads a module as nothing but imports of the runtime, types, and constants that are tools. Throws at anything else. */
export function parseModule(source: string): Statement[] {
  const tokens = tokenizeModule(source).filter((token) => token.kind !== "comment");
  const statements: Statement[] = [];
  let at = 0;
  const next = (): ModuleToken => {
    const token = tokens[at++];
    if (token === undefined) throw new Error("the module ends early");
    return token;
  };
  const expect = (...texts: string[]): void => {
    for (const text of texts) {
      const token = next();
      if (token.text !== text) throw new Error(`expected ${text}, found ${token.text}`);
    }
  };
  const skipType = (untilBrace: boolean): void => {
    let depth = 0;
    for (;;) {
      const token = next();
      const isTypeMark = token.kind === "mark" && !["=>", "=", "*", "<", ">"].includes(token.text);
      const isTypeWord =
        token.kind === "word" && !/^(?:import|export|const|typeof|function|class|new)$/.test(token.text);
      const isKey = tokens[at]?.text === ":" || tokens[at]?.text === "?";
      if (token.kind !== "string" && !isTypeMark && !isTypeWord && !isKey)
        throw new Error(`not a type: ${token.text}`);
      if (token.kind === "mark" && "{([".includes(token.text)) depth++;
      if (token.kind === "mark" && "})]".includes(token.text)) depth--;
      if (depth < 0) throw new Error("unbalanced brackets");
      if (depth === 0 && token.kind === "mark" && token.text === (untilBrace ? "}" : ";")) return;
    }
  };
  while (at < tokens.length) {
    const first = next().text;
    if (first === "import") {
      expect("{", "tool", "}", "from", '"../../runtime.js"', ";");
      statements.push({ kind: "import" });
      continue;
    }
    if (first !== "export") throw new Error(`unexpected statement: ${first}`);
    const keyword = next().text;
    const name = next().text;
    if (keyword === "interface") {
      if (tokens[at]?.text !== "{") throw new Error("an interface without a body");
      skipType(true);
      statements.push({ kind: "type", name });
    } else if (keyword === "type") {
      expect("=");
      skipType(false);
      statements.push({ kind: "type", name });
    } else if (keyword === "const") {
      expect("=", "tool", "<");
      const input = next();
      expect(",");
      const output = next();
      if (input.kind !== "word" || output.kind !== "word") throw new Error("a tool without types");
      expect(">", "(");
      const calls = next();
      if (calls.kind !== "string") throw new Error("a tool without a name");
      expect(")", ";");
      statements.push({ kind: "tool", name, calls: JSON.parse(calls.text) as string });
    } else if (keyword === "{" && name === "}") {
      expect(";");
    } else {
      throw new Error(`unexpected export: ${keyword}`);
    }
  }
  for (const statement of statements) {
    if (statement.kind === "type" && SCALARS.has(statement.name)) throw new Error(`type ${statement.name}`);
  }
  return statements;
}
