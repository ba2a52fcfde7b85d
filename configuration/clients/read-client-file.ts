import { withoutMark } from "../../base/file-text.ts";
import { type ForeignJsonError, parseForeignJson } from "../../base/json.ts";

/** The largest file that is read. Clients also keep other state in it, so it can be large. */
export const MAX_CLIENT_FILE_BYTES = 64 * 1024 * 1024;

/** The largest TOML file that is read. The TOML parser has no size limit; real files are far smaller. */
const MAX_TOML_BYTES = 1024 * 1024;

const MAX_DEPTH = 128;

/** Thrown for a file that cannot be parsed. The message does not quote the file, because it may hold secrets. */
export class ClientFileError extends Error {
  override readonly name = "ClientFileError";
}

/**
 * Reads the configuration file of an MCP client: JSON, JSON with comments and trailing commas, TOML for a name that ends in `.toml`,
 * or YAML for one that ends in `.yaml`. A byte order mark before it is left out.
 *
 * @throws ClientFileError whose message continues a sentence that begins with the file's name.
 */
export async function readClientFile(name: string, text: string): Promise<unknown> {
  const own = withoutMark(text);
  if (name.endsWith(".toml")) return readToml(own);
  return /\.ya?ml$/.test(name) ? readYaml(own) : readJson(own);
}

async function readJson(text: string): Promise<unknown> {
  const limits = { maxBytes: MAX_CLIENT_FILE_BYTES, maxDepth: MAX_DEPTH };
  try {
    return parseForeignJson(text, limits);
  } catch (error) {
    if ((error as ForeignJsonError).code !== "not_json") throw refusal(error);
  }
  try {
    return parseForeignJson(await withoutComments(text), limits);
  } catch (error) {
    throw refusal(error);
  }
}

function refusal(error: unknown): ClientFileError {
  const { code, message } = error as ForeignJsonError;
  return new ClientFileError(code === "not_json" ? "is not JSON" : message);
}

/** The kinds of tokens that matter here, as jsonc-parser numbers them (its `SyntaxKind` exists at compile time only). */
const TOKEN = {
  closeBrace: 2,
  closeBracket: 4,
  comma: 5,
  lineComment: 12,
  blockComment: 13,
  trivia: 15,
  end: 17,
};

/** Tokens that are not the end of a value: opening brackets, a comma, a colon. */
const BEFORE_VALUES: ReadonlySet<number> = new Set([1, 3, TOKEN.comma, 6]);

/** Replaces each comment of a JSON text by a space, and removes trailing commas. */
async function withoutComments(text: string): Promise<string> {
  const { createScanner } = await import("jsonc-parser");
  const scanner = createScanner(text, false);
  const pieces: string[] = [];
  let previous: number = TOKEN.comma;
  /** The index in `pieces` of the last token, if that is a comma after a value. */
  let comma: number | undefined;
  for (;;) {
    const kind: number = scanner.scan();
    if (kind === TOKEN.end) return pieces.join("");
    const isComment = kind === TOKEN.lineComment || kind === TOKEN.blockComment;
    if ((kind === TOKEN.closeBrace || kind === TOKEN.closeBracket) && comma !== undefined) pieces[comma] = "";
    if (kind < TOKEN.lineComment || kind > TOKEN.trivia) {
      comma = kind === TOKEN.comma && !BEFORE_VALUES.has(previous) ? pieces.length : undefined;
      previous = kind;
    }
    const start = scanner.getTokenOffset();
    pieces.push(isComment ? " " : text.slice(start, start + scanner.getTokenLength()));
  }
}

async function readYaml(text: string): Promise<unknown> {
  if (Buffer.byteLength(text) > MAX_TOML_BYTES)
    throw new ClientFileError(`is larger than ${MAX_TOML_BYTES} bytes, which is more than is read of YAML`);
  const { parse } = await import("yaml");
  try {
    return parse(text, { maxAliasCount: 100, logLevel: "silent" });
  } catch {
    throw new ClientFileError("is not YAML");
  }
}

async function readToml(text: string): Promise<unknown> {
  if (Buffer.byteLength(text) > MAX_TOML_BYTES) {
    throw new ClientFileError(`is larger than ${MAX_TOML_BYTES} bytes, which is more than is read of TOML`);
  }
  const { parse } = await import("smol-toml");
  try {
    return parse(text, { maxDepth: MAX_DEPTH });
  } catch {
    throw new ClientFileError("is not TOML");
  }
}
