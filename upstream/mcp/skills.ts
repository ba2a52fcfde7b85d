/**
 * Skills of a server (MCP Skills, SEP-2640): directories of texts that a model follows. An entry names the files of a skill with their
 * digests, and the files are resources. The server sends both, so digests that fit say only that the two are of one state.
 */
import { createHash } from "node:crypto";
import { isObject } from "../../base/json.ts";
import { oneLine, visibleLines } from "../../base/visible-text.ts";
import { Digest } from "../../protocol/digest.ts";

const SKILL_FILE = "/SKILL.md";
/** What a skill says of its files where it makes them anew for each reader. */
const DYNAMIC = "dynamic";
const MAX_SKILLS = 10_000;
const MAX_SHOWN_CHARS = 160;

interface SkillFile {
  readonly uri: string;
  readonly digest: string;
  readonly size: number;
}

/** The entry of a skill, checked. */
export interface SkillEntry {
  readonly uri: string;
  /** What stands at the head of `SKILL.md`, word for word. */
  readonly frontmatter: Readonly<Record<string, unknown>>;
  readonly resources: readonly SkillFile[] | typeof DYNAMIC;
}

/** Reads an entry. Returns a line that says what is wrong with an entry that cannot be used. */
export function parseSkill(value: unknown): SkillEntry | string {
  const { uri, frontmatter, resources } = isObject(value) ? value : {};
  if (typeof uri !== "string") return "a skill has no URI";
  const bad = (why: string) => `the skill ${oneLine(uri, MAX_SHOWN_CHARS)} ${why}`;
  if (!uri.endsWith(SKILL_FILE) || visibleLines(uri) !== uri) return bad("has no URI of a SKILL.md");
  if (!isObject(frontmatter) || typeof frontmatter.description !== "string")
    return bad("has no frontmatter with a name and a description");
  if (uri.slice(0, -SKILL_FILE.length).split("/").at(-1) !== frontmatter.name)
    return bad("has a name that is not the folder in its URI");
  if (hasHidden(frontmatter)) return bad("has hidden characters in its frontmatter");
  if (resources === DYNAMIC) return { uri, frontmatter, resources };
  const root = rootOf(uri);
  const files = (Array.isArray(resources) ? resources : []).map((file: unknown) => parseFile(file, root));
  const usable = files.filter((file) => file !== undefined);
  const isEachOnce = new Set(usable.map((file) => file.uri)).size === files.length;
  if (!isEachOnce || !usable.some((file) => file.uri === uri))
    return bad("does not list each of its files once, with a digest and a size");
  return { uri, frontmatter, resources: usable };
}

function parseFile(value: unknown, root: string): SkillFile | undefined {
  const { uri, digest, size } = isObject(value) ? value : {};
  if (typeof uri !== "string" || !uri.startsWith(root)) return undefined;
  if (!Digest.safeParse(digest).success || !Number.isSafeInteger(size)) return undefined;
  return { uri, digest: digest as string, size: size as number };
}

function rootOf(uri: string): string {
  return uri.slice(0, 1 - SKILL_FILE.length);
}

/** A client compares the frontmatter with the file, so nothing in it can be made visible. */
function hasHidden(value: unknown): boolean {
  if (typeof value === "string") return visibleLines(value) !== value.replaceAll("\r\n", "\n");
  if (!isObject(value) && !Array.isArray(value)) return false;
  return Object.entries(value).some(([key, member]) => hasHidden(key) || hasHidden(member));
}

/** What a connection knows of its server's skills: the newest entry of each. */
export class KnownSkills {
  /** Whether the server has listed its skills. */
  isListed = false;
  readonly #entries = new Map<string, SkillEntry>();

  /** Replaces all entries by those of a list. */
  list(entries: readonly SkillEntry[]): void {
    this.isListed = true;
    this.#entries.clear();
    for (const entry of entries) this.keep(entry);
  }

  keep(entry: SkillEntry): void {
    if (this.#entries.size < MAX_SKILLS || this.#entries.has(entry.uri)) this.#entries.set(entry.uri, entry);
  }

  /** Forgets a skill that the server no longer has. */
  forget(uri: string): void {
    this.#entries.delete(uri);
  }

  /**
   * Compares what was read at a URI with the entry of its skill, or of one of them where skills contain others. Returns why it is not
   * to be used, to follow the server's name; `undefined` where it fits, or is no file of a known skill.
   */
  faultOf(uri: unknown, contents: readonly unknown[]): string | undefined {
    if (typeof uri !== "string") return undefined;
    const around = [...this.#entries.values()].flatMap(({ uri: skill, resources }) =>
      resources !== DYNAMIC && uri.startsWith(rootOf(skill)) ? [resources] : [],
    );
    if (around.length === 0) return undefined;
    const shown = oneLine(uri, MAX_SHOWN_CHARS);
    const files = around.flat().filter((file) => file.uri === uri);
    if (files.length === 0) return `sent ${shown}, which its skill does not list; ${AGAIN}`;
    const bytes = contents.length === 1 ? bytesIn(contents[0]) : undefined;
    if (bytes === undefined) return `sent ${shown}, a file of a skill, as something other than one file`;
    const digest = digestOf(bytes);
    return files.some((file) => file.size === bytes.length && file.digest === digest)
      ? undefined
      : `sent ${shown} with another digest than its skill lists; ${AGAIN}`;
  }
}

const AGAIN = "get the skill again, as it may have changed";

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function bytesIn(content: unknown): Buffer | undefined {
  const { text, blob } = isObject(content) ? content : {};
  if (typeof text === "string") return Buffer.from(text, "utf8");
  return typeof blob === "string" ? Buffer.from(blob, "base64") : undefined;
}
