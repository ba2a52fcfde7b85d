import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { isObject } from "../../../base/json.ts";
import type { LanguageProcesses } from "../../language.ts";

/** The heap limit of the checker. Beyond it, the checker dies and is restarted. */
const MAX_HEAP_MB = 384;

/** A finding of pyright. Lines and columns count from 0, and columns are UTF-16 code units. */
export interface PyrightDiagnostic {
  message: string;
  rule: string | undefined;
  isError: boolean;
  start: { line: number; character: number };
  end: { line: number; character: number };
}

/** Replaces a module that pyright assigns to, because Node's permission model freezes the original. */
const PRELOAD = `const Module = require("node:module");
const path = { ...require("node:path") };
path.posix = path;
const load = Module._load;
Module._load = function (request, ...rest) {
  return request === "path" || request === "node:path" ? path : load.call(this, request, ...rest);
};
`;

/** The folder where pyright is installed, or `undefined` if it is not installed. */
export function findPyright(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve("pyright/package.json"));
  } catch {
    return undefined;
  }
}

/** The command that installs the tested version of pyright beside a globally installed ptc. */
export const INSTALL_PYRIGHT = "npm install --global pyright@1.1.414";

/** Advice if pyright is not installed, or `undefined` if it is installed. */
export function whyPyrightIsMissing(): string | undefined {
  return findPyright() === undefined
    ? `pyright is not installed: \`${INSTALL_PYRIGHT}\` has programs in Python checked before they run`
    : undefined;
}

/**
 * pyright in a separate process, which ends by being killed. It can read only its own files and a folder of stubs, cannot write
 * anything, and cannot start processes. It gets programs as texts.
 */
export class PyrightProcess {
  readonly #folder: string;
  readonly #child: ChildProcess;
  readonly #connection: LspConnection;
  readonly #written = new Map<string, string>();
  /** The roots whose program is open. */
  readonly #open = new Set<string>();
  #version = 0;
  /** Resolves when the process has ended and its folder is removed. */
  readonly ended: Promise<void>;

  /** @param roots the folders of stubs, each for the programs beside them. */
  constructor(pyright: string, roots: readonly string[], processes: LanguageProcesses) {
    this.#folder = realpathSync(mkdtempSync(join(processes.folder ?? tmpdir(), "ptc-pyright-")));
    for (const root of roots) {
      mkdirSync(join(this.#folder, root));
      writeFileSync(join(this.#folder, root, "pyrightconfig.json"), JSON.stringify(CHECK_SETTINGS));
    }
    const preload = join(this.#folder, "preload.cjs");
    writeFileSync(preload, PRELOAD);
    const permission = process.allowedNodeEnvironmentFlags.has("--permission")
      ? "--permission"
      : "--experimental-permission";
    const child = spawn(
      process.execPath,
      [
        permission,
        `--allow-fs-read=${realpathSync(pyright)}/*`,
        `--allow-fs-read=${this.#folder}/*`,
        `--max-old-space-size=${MAX_HEAP_MB}`,
        "--no-warnings",
        "--require",
        preload,
        join(realpathSync(pyright), "langserver.index.js"),
        "--stdio",
      ],
      { cwd: this.#folder, env: {}, stdio: ["pipe", "pipe", "ignore"] },
    );
    this.#child = child;
    const { pid } = child;
    if (pid !== undefined) processes.onSpawn?.(pid);
    const killWithUs = () => this.kill();
    process.once("exit", killWithUs);
    this.#connection = new LspConnection(
      child.stdout as NonNullable<typeof child.stdout>,
      child.stdin as NonNullable<typeof child.stdin>,
      (method, params) => this.#answer(method, params),
      () => this.kill(),
    );
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        process.off("exit", killWithUs);
        if (pid !== undefined) processes.onExit?.(pid);
        this.#connection.end();
        this.#removeFolder();
        resolve();
      };
      child.once("exit", end);
      child.once("error", end);
    });
  }

  /** Initializes the server. @throws if it does not work here. */
  async start(roots: readonly string[]): Promise<void> {
    const folders = roots.map((root) => ({ name: root, uri: this.#uriOf(root) }));
    await this.#connection.request("initialize", {
      processId: null,
      rootUri: null,
      workspaceFolders: folders,
      capabilities: {
        workspace: {
          workspaceFolders: true,
          configuration: true,
          didChangeWatchedFiles: { dynamicRegistration: true },
        },
        textDocument: { diagnostic: { dynamicRegistration: true } },
      },
    });
    this.#connection.notify("initialized", {});
  }

  /** Updates files in the folder of stubs. */
  write(files: ReadonlyMap<string, string>): void {
    const changes: { uri: string; type: number }[] = [];
    for (const [path, text] of files) {
      const before = this.#written.get(path);
      if (before === text) continue;
      mkdirSync(dirname(join(this.#folder, path)), { recursive: true });
      writeFileSync(join(this.#folder, path), text);
      this.#written.set(path, text);
      changes.push({ uri: this.#uriOf(path), type: before === undefined ? 1 : 2 });
    }
    if (changes.length > 0) this.#connection.notify("workspace/didChangeWatchedFiles", { changes });
  }

  /** Returns pyright's findings in a program of a root. */
  async check(root: string, code: string): Promise<PyrightDiagnostic[]> {
    const uri = this.#uriOf(`${root}/program.py`);
    const version = ++this.#version;
    if (this.#open.has(root)) {
      const contentChanges = [{ text: code }];
      this.#connection.notify("textDocument/didChange", { textDocument: { uri, version }, contentChanges });
    } else {
      const textDocument = { uri, languageId: "python", version, text: code };
      this.#connection.notify("textDocument/didOpen", { textDocument });
      this.#open.add(root);
    }
    const report = await this.#connection.request("textDocument/diagnostic", { textDocument: { uri } });
    const items = isObject(report) && Array.isArray(report.items) ? report.items : [];
    return items.flatMap(parseDiagnostic);
  }

  kill(): void {
    this.#child.kill("SIGKILL");
    this.#removeFolder();
  }

  #removeFolder(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #uriOf(path: string): string {
    return pathToFileURL(join(this.#folder, path)).href;
  }

  #answer(method: string, params: unknown): unknown {
    if (method !== "workspace/configuration" || !isObject(params) || !Array.isArray(params.items))
      return null;
    return params.items.map(() => ({
      disableTaggedHints: true,
      analysis: { diagnosticMode: "openFilesOnly", useLibraryCodeForTypes: false, autoSearchPaths: false },
    }));
  }
}

function parseDiagnostic(item: unknown): PyrightDiagnostic[] {
  if (!isObject(item) || !isObject(item.range)) return [];
  const { start, end } = item.range;
  if (!isPlace(start) || !isPlace(end) || typeof item.message !== "string") return [];
  const rule = typeof item.code === "string" ? item.code : undefined;
  return [{ message: item.message, rule, isError: item.severity === 1, start, end }];
}

function isPlace(value: unknown): value is { line: number; character: number } {
  return isObject(value) && typeof value.line === "number" && typeof value.character === "number";
}

/** The findings of pyright that may mean that a program fails when it runs. */
const ASKED = [
  "reportArgumentType",
  "reportAssignmentType",
  "reportAttributeAccessIssue",
  "reportCallIssue",
  "reportGeneralTypeIssues",
  "reportIndexIssue",
  "reportMissingImports",
  "reportOperatorIssue",
  "reportTypedDictNotRequiredAccess",
  "reportUndefinedVariable",
  "reportUnusedCoroutine",
];

/** The settings of pyright for programs: the runner's Python, and only the needed rules. */
const CHECK_SETTINGS: Readonly<Record<string, unknown>> = {
  typeCheckingMode: "off",
  pythonVersion: "3.11",
  pythonPlatform: "Linux",
  useLibraryCodeForTypes: false,
  enableTypeIgnoreComments: true,
  ...Object.fromEntries(ASKED.map((rule) => [rule, "error"])),
};

/** The size of the longest message to read. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

const HEADER_END = Buffer.from("\r\n\r\n");

/** Answers a request of the server. `undefined` stands for `null`. */
type AnswerRequest = (method: string, params: unknown) => unknown;

/**
 * The client's side of the Language Server Protocol 3.17 over two streams. It ends with them. It bounds the messages that it reads,
 * because the process works on text that a model wrote. The reader of `vscode-jsonrpc` has no such bound.
 */
class LspConnection {
  readonly #input: Writable;
  readonly #answer: AnswerRequest;
  readonly #pending = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  #buffered: Buffer[] = [];
  #bytes = 0;
  #next = 1;
  #ended = false;

  /** @param onBroken called when the server sends something that is not LSP. */
  constructor(output: Readable, input: Writable, answer: AnswerRequest, onBroken: () => void) {
    this.#input = input;
    this.#answer = answer;
    output.on("data", (chunk: Buffer) => {
      this.#buffered.push(chunk);
      this.#bytes += chunk.length;
      if (!this.#read()) onBroken();
    });
    output.on("close", () => this.end());
    output.on("error", () => this.end());
    input.on("error", () => this.end());
  }

  /** Sends a request. @throws if it fails, or the connection ends. */
  request(method: string, params: unknown): Promise<unknown> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      if (this.#ended) return reject(new Error("the type checker's process ended"));
      this.#pending.set(id, { resolve, reject });
      this.#send({ id, method, params });
    });
  }

  notify(method: string, params: unknown): void {
    this.#send({ method, params });
  }

  /** Fails pending requests. */
  end(): void {
    this.#ended = true;
    for (const { reject } of this.#pending.values()) reject(new Error("the type checker's process ended"));
    this.#pending.clear();
  }

  #send(message: object): void {
    if (this.#ended) return;
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.#input.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]));
  }

  /** Reads complete messages from the buffer. Returns false for invalid input. */
  #read(): boolean {
    if (this.#bytes > MAX_MESSAGE_BYTES) return false;
    let all = Buffer.concat(this.#buffered);
    for (;;) {
      const end = all.indexOf(HEADER_END);
      if (end < 0) break;
      const length = Number(/^Content-Length: *(\d{1,9})\s*$/im.exec(all.toString("latin1", 0, end))?.[1]);
      if (!Number.isInteger(length) || length > MAX_MESSAGE_BYTES) return false;
      const start = end + HEADER_END.length;
      if (all.length < start + length) break;
      if (!this.#take(all.toString("utf8", start, start + length))) return false;
      all = all.subarray(start + length);
    }
    this.#buffered = [all];
    this.#bytes = all.length;
    return true;
  }

  #take(text: string): boolean {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return false;
    }
    if (!isObject(message)) return false;
    const { id, method, params, result, error } = message;
    if (typeof method === "string") {
      if (id !== undefined) this.#send({ id, result: this.#answer(method, params) ?? null });
      return true;
    }
    const pending = typeof id === "number" ? this.#pending.get(id) : undefined;
    if (typeof id !== "number" || pending === undefined) return true;
    this.#pending.delete(id);
    if (error === undefined) pending.resolve(result);
    else pending.reject(new Error("the type checker refused a request"));
    return true;
  }
}
