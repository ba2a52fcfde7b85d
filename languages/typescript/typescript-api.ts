import type { ChildProcess } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, sep } from "node:path";
import type { Writable } from "node:stream";
import { getTokenAtPosition, type Node, type SourceFile } from "typescript/unstable/ast";
import {
  API,
  type Checker,
  type Diagnostic,
  type Program,
  type Snapshot,
  type Type,
  TypeFlags,
} from "typescript/unstable/async";
import type { LanguageProcesses } from "../language.ts";

export {
  isArrayLiteralExpression,
  isArrowFunction,
  isAsExpression,
  isAwaitExpression,
  isBinaryExpression,
  isBindingElement,
  isBlock,
  isCallExpression,
  isConditionalExpression,
  isDeleteExpression,
  isElementAccessExpression,
  isExpression,
  isForOfStatement,
  isFunctionLikeDeclaration,
  isIdentifier,
  isIfStatement,
  isImportClause,
  isImportDeclaration,
  isImportSpecifier,
  isNewExpression,
  isNonNullExpression,
  isNumericLiteral,
  isObjectLiteralExpression,
  isParameterDeclaration,
  isParenthesizedExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isShorthandPropertyAssignment,
  isSpreadAssignment,
  isStatement,
  isStringLiteral,
  isTryStatement,
  isTypeNode,
  isTypeOfExpression,
  isVariableDeclaration,
  type Node,
  NodeFlags,
  type SourceFile,
} from "typescript/unstable/ast";
export type { Checker, Diagnostic, Type };
export { TypeFlags };

/** The only files that the type checker sees besides its library. They include no file of the host. */
export interface VirtualFiles {
  read(path: string): string | undefined;
  hasDirectory(path: string): boolean;
}

/** The differences of the virtual files from those of the previous `open`. */
export interface FileChanges {
  changed: string[];
  created: string[];
  deleted: string[];
}

/** The checker for one state of the files. */
export interface OpenedProgram {
  program: Program;
  checker: Checker;
}

/** The API's internal client, which its types hide. The version of TypeScript is pinned. */
interface Client {
  connect(): Promise<void>;
  close(): Promise<void>;
  process?: ChildProcess;
}

/** TypeScript in a separate process, which sees only virtual files and its own library, and ends by being killed. */
export class TypeScriptProcess {
  readonly #api: API;
  readonly #config: string;
  readonly #processes: LanguageProcesses;
  #snapshot: Snapshot | undefined;
  #child: ChildProcess | undefined;
  #killed = false;
  readonly #gone = new AbortController();
  /** Aborted when the process has ended. */
  readonly gone = this.#gone.signal;

  constructor(root: string, config: string, files: VirtualFiles, processes: LanguageProcesses) {
    this.#processes = processes;
    const library = libraryDirectory();
    const isLibrary = (path: string): boolean =>
      path.startsWith(library) && /^lib(?:\.[a-z0-9]+)*\.d\.ts$/.test(path.slice(library.length));
    this.#config = config;
    this.#api = new API({
      cwd: root,
      fs: {
        // `undefined` makes the process read the file from the disk. `null` means that there is no file.
        readFile: (path) => files.read(path) ?? (isLibrary(path) ? undefined : null),
        fileExists: (path) => files.read(path) !== undefined || isLibrary(path),
        directoryExists: (path) => files.hasDirectory(path),
        getAccessibleEntries: () => ({ files: [], directories: [] }),
        realpath: (path) => path,
      },
    });
  }

  /**
   * Starts the process. No other method works before that.
   *
   * @throws if TypeScript has no build for this platform, or the process cannot be started.
   */
  async start(): Promise<void> {
    // The library can only ask its process to end, which a busy process ignores. ptc therefore kills the process itself.
    const client = this.#client();
    await client.connect();
    const child = client.process;
    if (child === undefined || child.stdin === null) throw new Error("TypeScript has no process");
    this.#child = child;
    const { pid } = child;
    if (pid !== undefined) this.#processes.onSpawn?.(pid);
    child.on("error", () => {});
    ignoreFailedWrites(child.stdin);
    // The process does not always notice that ptc has ended, for example while it waits for a file.
    const killWithUs = () => child.kill("SIGKILL");
    process.once("exit", killWithUs);
    child.once("exit", () => {
      process.off("exit", killWithUs);
      if (pid !== undefined) this.#processes.onExit?.(pid);
      this.#gone.abort();
    });
    if (this.#killed) this.kill();
  }

  /** Opens the files in their current state. Results of earlier calls must not be used after that. */
  async open(changes?: FileChanges): Promise<OpenedProgram> {
    const previous = this.#snapshot;
    const params = changes === undefined ? { openProjects: [this.#config] } : { fileChanges: changes };
    const snapshot = await this.#api.updateSnapshot(params);
    this.#snapshot = snapshot;
    previous?.dispose().catch(() => {});
    const project = snapshot.getProject(this.#config);
    if (project === undefined) throw new Error("TypeScript did not open the project");
    return project;
  }

  /** Kills the process, even if it is busy. Pending requests fail. */
  kill(): void {
    this.#killed = true;
    if (this.#child === undefined) this.#gone.abort();
    this.#child?.kill("SIGKILL");
    // Closing the API itself would send requests to the process.
    this.#client()
      .close()
      .catch(() => {});
  }

  #client(): Client {
    return Reflect.get(this.#api, "client") as Client;
  }
}

/**
 * Drops errors of writing to the process. The library would throw them outside any caller and end ptc. A request to a dead
 * process stays unanswered, and its caller also waits for the end of the process.
 */
function ignoreFailedWrites(stream: Writable): void {
  stream.on("error", () => {});
  const write = stream.write.bind(stream) as (...args: [unknown, BufferEncoding, () => void]) => boolean;
  stream.write = (chunk: unknown, ...rest: unknown[]) => {
    const done = rest.findLast((each) => typeof each === "function") as (() => void) | undefined;
    return write(chunk, typeof rest[0] === "string" ? (rest[0] as BufferEncoding) : "utf8", () => done?.());
  };
}

/** The innermost node that covers a range of a file. */
export function nodeAt(file: SourceFile, start: number, end: number): Node {
  let node = getTokenAtPosition(file, start);
  while (node.end < end && node.parent !== undefined) node = node.parent;
  return node;
}

/** The folder of TypeScript's `lib.*.d.ts` files, beside the executable for this platform. */
function libraryDirectory(): string {
  const typescript = createRequire(import.meta.url).resolve("typescript/package.json");
  const platform = `@typescript/typescript-${process.platform}-${process.arch}`;
  const folder = dirname(createRequire(typescript).resolve(`${platform}/package.json`));
  return `${folder.split(sep).join("/")}/lib/`;
}
