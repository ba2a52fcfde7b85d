import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { UNASKED } from "../../broker/approvals/approvals.ts";
import { PYTHON_PRINTER } from "../../codegen/python/python-printer.ts";
import { TYPESCRIPT_PRINTER } from "../../codegen/typescript/typescript-printer.ts";
import { executeProgram } from "../../execution/program.ts";
import { RecordedModules } from "../../execution/recorded-modules.ts";
import type { Language } from "../../languages/language.ts";
import { languageOfFile } from "../../languages/languages.ts";
import { type ModuleSource, UsedModules } from "../../languages/module-source.ts";
import type { Program } from "../../languages/program.ts";
import { PYTHON } from "../../languages/python/language.ts";
import { openPython } from "../../languages/python/python.ts";
import { TYPESCRIPT } from "../../languages/typescript/language.ts";
import { openTypeScript } from "../../languages/typescript/typescript.ts";
import { type Manifest, renderManifest } from "../../programs/manifest.ts";
import { SavedPrograms } from "../../programs/saved-programs.ts";
import { KeptSandbox } from "../../sandbox/kept-sandbox.ts";
import type { SandboxEngine } from "../../sandbox/sandbox-engine.ts";
import { SandboxStarter } from "../../sandbox/sandbox-starter.ts";
import { WASM_IMAGE } from "../../sandbox/wasm/wasm-engine.ts";
import { Redactor } from "../../secrets/redaction.ts";
import { ProcessEngine } from "../runner-image/process-engine.ts";

const LIMITS = {
  timeoutMs: 30_000,
  maxOutputBytes: 65_536,
  maxStderrBytes: 65_536,
  maxParallelCalls: 10,
  maxToolCalls: 100,
};
const NO_SERVERS: ModuleSource = { modules: () => [], load: async () => undefined };

const LANGUAGES: readonly Language[] = [
  { ...TYPESCRIPT, ...openTypeScript() },
  {
    ...PYTHON,
    ...openPython(
      {},
      { check: async () => ({ kind: "clean" }), warm: async () => {}, close: async () => {} },
    ),
  },
];

/** Ends what the programs of all folders were bundled with. */
export const closeLanguages = () => Promise.all(LANGUAGES.map((each) => each.close()));

/** What a program came to, and the tools that it called, in order. */
interface Ran {
  value: unknown;
  called: string[];
  /** The texts that its record would hold. */
  texts: Map<string, string>;
}

/** One sandbox for several programs, and those that ran in it. */
interface OpenSession {
  kept: KeptSandbox;
  earlier: Program[];
}

/** A folder of saved programs, and runners without a wall for what calls them. Other tools answer with their arguments. */
export class SavedFolder {
  readonly directory = mkdtempSync(join(tmpdir(), "ptc-saved-"));
  readonly #engine: SandboxEngine;

  constructor(engine: SandboxEngine = new ProcessEngine()) {
    this.#engine = engine;
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  write(file: string, text: string): void {
    const path = join(this.directory, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  /** Saves a program under the name of its file. */
  save(file: string, code: string, manifest: Partial<Manifest> = {}): void {
    const name = file.replace(/\.[a-z]+$/, "");
    this.write(`programs/${file}`, code);
    const all = { description: name, program: file, input: { type: "object" }, output: undefined };
    const text = renderManifest({ ...all, expose: false, timeoutMs: undefined, ...manifest });
    this.write(`programs/${name}.yaml`, text);
  }

  read(): SavedPrograms {
    return SavedPrograms.read({ directory: this.directory, servers: [], file: "ptc.yaml" });
  }

  /** Runs a program in the language of its file's name. @param from what it imports; the folder by default */
  async run(fileName: string, code: string, from?: ModuleSource, session?: OpenSession): Promise<Ran> {
    const language = languageOfFile(fileName) ?? "";
    const isPython = language === "python";
    const printer = isPython ? PYTHON_PRINTER : TYPESCRIPT_PRINTER;
    const saved = this.read();
    const callable = new Set(saved.programs.map(({ tool }) => tool.namespacedName));
    const modules = new UsedModules(from ?? saved.beside(NO_SERVERS, printer, callable));
    const called: string[] = [];
    const program: Program = { code, data: { root: true }, language, fileName };
    const place = { id: "0", position: (session?.earlier.length ?? 0) + 1 };
    const executed = await executeProgram({
      program,
      sandboxes: session?.kept ?? this.#sandboxes(isPython),
      languages: LANGUAGES,
      modules,
      dispatcher: {
        async dispatch(call) {
          called.push(call.tool);
          return { ok: true, data: call.arguments, raw: null, bytes: 1, decision: "allowed" } as never;
        },
      },
      approver: { ask: async () => UNASKED },
      redactor: new Redactor([]),
      clock: { monotonicMs: () => performance.now() },
      toolVersion: "0.0.0",
      limits: LIMITS,
      typecheck: "off",
      signal: new AbortController().signal,
      ...(session && { session: { place, earlier: [...session.earlier] } }),
    });
    await executed.cleared;
    session?.earlier.push(program);
    const { result } = executed.envelope;
    const value = result.ok ? result.data : `${result.error.type}: ${result.error.message}`;
    return { value, called, texts: modules.archived() };
  }

  /** Runs programs one after the other in one session, and gives what each came to. */
  async runInSession(fileName: string, codes: readonly string[]): Promise<Ran[]> {
    const session = { kept: new KeptSandbox(this.#sandboxes(fileName.endsWith(".py"))), earlier: [] };
    const ran: Ran[] = [];
    try {
      for (const code of codes) ran.push(await this.run(fileName, code, undefined, session));
      return ran;
    } finally {
      await session.kept.close();
    }
  }

  #sandboxes(isPython: boolean): SandboxStarter {
    return new SandboxStarter({
      engine: this.#engine,
      owner: "me",
      image: WASM_IMAGE,
      runtime: WASM_IMAGE,
      runner: isPython ? "python" : "javascript",
      limits: { memoryMb: 512, cpus: 1, pids: 64 },
    });
  }

  /** Runs a program with what its record holds, whatever the folder holds by now. */
  async runRecorded(fileName: string, code: string, texts: ReadonlyMap<string, string>): Promise<Ran> {
    const printer = languageOfFile(fileName) === "python" ? PYTHON_PRINTER : TYPESCRIPT_PRINTER;
    return this.run(fileName, code, new RecordedModules(texts, printer, ["programs"]));
  }
}
