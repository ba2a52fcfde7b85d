import { isObject, writeJson } from "../base/json.ts";
import { definitionDigest } from "../catalog/parse-tool.ts";
import { programFunction, toolNameOf } from "../catalog/program-name.ts";
import type { ServerTools, Tool } from "../catalog/tool.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import { buildServerModel } from "../catalog/tool-model.ts";
import type { GeneratedModule, LanguagePrinter } from "../codegen/language-printer.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { findLanguage } from "../languages/language.ts";
import { isSameLanguage, LANGUAGES } from "../languages/languages.ts";
import type { ModuleSource, OtherProgram, SavedProgram, SavedSources } from "../languages/module-source.ts";
import type { Program } from "../languages/program.ts";
import { digestOf, textDigest } from "../protocol/canonical-json.ts";
import { namespacedName, PROGRAMS_MODULE } from "../protocol/tool-names.ts";
import { version } from "../system/package.ts";
import type { ToolServer, ToolServers } from "../upstream/tool-servers.ts";
import { type ProgramFiles, readPrograms } from "./program-folder.ts";

/** The saved programs of one language, as a module. */
export interface PrintedPrograms {
  printer: LanguagePrinter;
  text: string;
  tools: readonly { module: string; name: string; identifier: string }[];
}

/** A saved program, and the tool that stands for it. */
export interface NamedProgram extends ProgramFiles {
  readonly tool: Tool;
  /** SHA-256 over its text and those of the saved programs that it may call. */
  readonly digest: string;
}

/**
 * The saved programs of a configuration at one moment. In the catalog they are the tools of a server `programs`, so that policy,
 * approvals and records apply to them as to any tool. Such a call lets a program begin. The program itself runs where its caller
 * runs, and each of its calls belongs to the same run.
 */
export class SavedPrograms {
  readonly programs: readonly NamedProgram[];
  /** The problems of other programs by their names, one line each. */
  readonly problems: ReadonlyMap<string, string>;
  readonly server: ServerTools;
  readonly #byTool: ReadonlyMap<string, NamedProgram>;
  readonly #texts = new Map<LanguagePrinter, Promise<string>>();

  private constructor(files: readonly ProgramFiles[], problems: ReadonlyMap<string, string>) {
    const patterns = new Map(files.map((each) => [each, patternOf(each)]));
    this.programs = files.map((each) => {
      const digest = digestOf(withCalled(each, patterns).map(({ name, code }) => [name, textDigest(code)]));
      return { ...each, digest, tool: toolOf(each, digest) };
    });
    this.problems = problems;
    this.#byTool = new Map(this.programs.map((each) => [each.tool.namespacedName, each]));
    this.server = {
      name: PROGRAMS_MODULE,
      module: PROGRAMS_MODULE,
      description: "Programs that were saved to be run again, each as one function",
      implementation: { name: "ptc", version },
      tools: this.programs.map(({ tool }) => tool).sort((a, b) => (a.name < b.name ? -1 : 1)),
    };
  }

  /**
   * @param unsaved a program that counts as saved, instead of a saved program of the same name.
   * @throws ConfigurationError when a server has the name that is reserved for saved programs.
   */
  static read(
    { servers, file, ...rest }: Pick<Configuration, "directory" | "servers" | "file">,
    unsaved?: ProgramFiles,
  ): SavedPrograms {
    const { programs: saved, problems } = readPrograms(rest);
    const programs = unsaved ? [...saved.filter(({ name }) => name !== unsaved.name), unsaved] : saved;
    const other = servers.find(({ module }) => module === PROGRAMS_MODULE);
    if (other !== undefined && programs.length > 0)
      throw new ConfigurationError(
        "invalid",
        `${file ?? "configuration"}: server '${other.name}' has the name of the saved programs in ${PROGRAMS_MODULE}/; rename it`,
      );
    return new SavedPrograms(programs, problems);
  }

  /** Finds a program by its name or by its tool's namespaced name. */
  find(name: string): NamedProgram | undefined {
    return this.programs.find((each) => each.name === name) ?? this.#byTool.get(name);
  }

  /** The modules of a language, with the module of saved programs in that language beside them. */
  beside(modules: ModuleSource, printer: LanguagePrinter, callable: ReadonlySet<string>): ModuleSource {
    if (this.programs.length === 0) return modules;
    const own = this.#in(printer);
    let read: Promise<GeneratedModule> | undefined;
    const module = () => {
      read ??= this.#print(printer).then((text) => printer.readModule(PROGRAMS_MODULE, text, callable));
      return read;
    };
    const saved: SavedSources = {
      load: async (tool) => this.#sourceOf(tool, own),
      others: this.programs.filter((each) => !own.includes(each)).map((each) => describeOther(each, printer)),
    };
    // The reasons change while the modules are used.
    const unlisted = () => modules.unlisted;
    if (own.length === 0)
      return {
        modules: () => modules.modules(),
        load: (name) => modules.load(name),
        get unlisted() {
          return unlisted();
        },
        saved,
      };
    return {
      get unlisted() {
        return unlisted();
      },
      modules: () => [...modules.modules(), PROGRAMS_MODULE].sort(),
      load: async (name) => (name === PROGRAMS_MODULE ? module() : modules.load(name)),
      saved,
    };
  }

  /**
   * The modules, tools and servers through which a run calls saved programs. A program may begin only if its text is part of the
   * run. A program that is named only at run time is refused with the reason.
   */
  forRun(
    modules: ModuleSource,
    tools: Pick<ToolCatalog, "get" | "unlisted">,
    servers: ToolServers,
  ): { modules: ModuleSource; tools: Pick<ToolCatalog, "get" | "unlisted">; servers: ToolServers } {
    const { saved } = modules;
    const begun = new Map<string, SavedProgram>();
    const followed: ModuleSource =
      saved === undefined
        ? modules
        : {
            modules: () => modules.modules(),
            load: (name) => modules.load(name),
            saved: {
              ...saved,
              async load(tool) {
                const program = await saved.load(tool);
                if (program !== undefined) begun.set(tool, program);
                return program;
              },
            },
          };
    const gate: ToolServer = {
      definitionDigest: (name) => tools.get(namespacedName(PROGRAMS_MODULE, name))?.definitionDigest,
      call: async ({ tool }) => letBegin(tool, begun.get(namespacedName(PROGRAMS_MODULE, tool))),
    };
    return {
      modules: followed,
      // The result of such a call is not the program's value, so its schema does not apply.
      tools: {
        get(name) {
          const tool = tools.get(name);
          return tool?.server === PROGRAMS_MODULE ? { ...tool, outputSchema: undefined } : tool;
        },
        unlisted: tools.unlisted,
      },
      servers: {
        connect: async (name, ...rest) => (name === PROGRAMS_MODULE ? gate : servers.connect(name, ...rest)),
      },
    };
  }

  /** The modules that editors read, one for each language that has saved programs. */
  async printFor(printers: readonly LanguagePrinter[]): Promise<PrintedPrograms[]> {
    const some = printers.filter((printer) => this.#in(printer).length > 0);
    return Promise.all(
      some.map(async (printer) => ({
        printer,
        text: await this.#print(printer),
        tools: this.#in(printer).map(({ tool }) => tool),
      })),
    );
  }

  #sourceOf(tool: string, own: readonly NamedProgram[]): SavedProgram | undefined {
    const found = own.find((each) => each.tool.namespacedName === tool);
    if (found === undefined) return undefined;
    const { fileName, language, code, manifest } = found;
    return { tool, fileName, language, code, output: manifest.output && writeJson(manifest.output) };
  }

  #in({ language }: LanguagePrinter): readonly NamedProgram[] {
    return this.programs.filter((each) => isSameLanguage(each.language, language));
  }

  #print(printer: LanguagePrinter): Promise<string> {
    const known = this.#texts.get(printer) ?? this.#printNow(printer);
    this.#texts.set(printer, known);
    return known;
  }

  async #printNow(printer: LanguagePrinter): Promise<string> {
    const tools = this.#in(printer).map(({ tool }) => tool);
    const listing = {
      name: PROGRAMS_MODULE,
      implementation: this.server.implementation,
      protocolVersion: "",
      tools,
    };
    const { server } = buildServerModel(listing, PROGRAMS_MODULE, undefined, printer.nameFunctions);
    return (await printer.printModule(server)).text;
  }
}

function describeOther({ tool, fileName, language }: NamedProgram, printer: LanguagePrinter): OtherProgram {
  return {
    identifier: printer.functionName({ name: tool.name, identifier: tool.identifier ?? tool.name }),
    fileName,
    title: findLanguage(LANGUAGES, language)?.title ?? language,
  };
}

/** A saved program's text as a program to type-check. */
export function textToCheck({ name, manifest, code, language, fileName }: ProgramFiles): Program {
  const { properties, additionalProperties } = manifest.input;
  const isKnown =
    additionalProperties === false || (isObject(properties) && Object.keys(properties).length > 0);
  const data = additionalProperties === false ? "closed" : isKnown ? "open" : "any";
  const tool = namespacedName(PROGRAMS_MODULE, toolNameOf(name));
  return { code, data: {}, language, fileName, savedAs: { tool, data } };
}

/** The MCP result of a call that lets a program begin. Through it, the record of a run states which text has run. */
function letBegin(name: string, program: SavedProgram | undefined): unknown {
  if (program === undefined) {
    const text = `it is a saved program, which a program of the same language calls by a name in its text: import ${programFunction(name.replaceAll("_", "-"))} from ./programs/index.js, or from programs in Python`;
    return { isError: true, content: [{ type: "text", text }] };
  }
  const began = { program: program.fileName, digest: textDigest(program.code) };
  return { content: [{ type: "text", text: JSON.stringify(began) }] };
}

function toolOf({ name, manifest, language }: ProgramFiles, digest: string): Tool {
  const own = toolNameOf(name);
  const { input, output } = manifest;
  // A program runs where its caller runs, in the same language.
  const facts = findLanguage(LANGUAGES, language);
  const whose = facts === LANGUAGES[0] ? "" : ` (for programs in ${facts?.title ?? language})`;
  const description = `${manifest.description}${whose}`;
  const definition = {
    name: own,
    description,
    inputSchema: input,
    ...(output === undefined ? {} : { outputSchema: output }),
    // Letting a program begin changes nothing. Whether one of its calls does is asked when it makes that call.
    annotations: { destructiveHint: false },
  };
  return {
    ...definition,
    namespacedName: namespacedName(PROGRAMS_MODULE, own),
    server: PROGRAMS_MODULE,
    module: PROGRAMS_MODULE,
    identifier: programFunction(name),
    definitionDigest: digestOf([definitionDigest(definition), digest]),
  };
}

/** Matches a text that most likely calls a program. */
function patternOf({ name }: ProgramFiles): RegExp {
  return new RegExp(`(?:\\b|__)(?:${[programFunction(name), toolNameOf(name)].join("|")})\\b`);
}

/** A program and the programs that its text names, directly or indirectly, sorted. @param all each program with its pattern. */
function withCalled(program: ProgramFiles, all: ReadonlyMap<ProgramFiles, RegExp>): ProgramFiles[] {
  const found = new Set([program]);
  for (const each of found) {
    if (!/\bprograms\b|\bmcp__programs__/.test(each.code)) continue;
    for (const [other, pattern] of all) if (pattern.test(each.code)) found.add(other);
  }
  return [...found].sort((a, b) => (a.name < b.name ? -1 : 1));
}
