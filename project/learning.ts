/** The types of results that were learned from the calls of programs, for tools that declare none. */
import { type LearnedRecord, type LearnedTypes, learnedKey } from "../catalog/learned/learned-types.ts";
import type { Tool } from "../catalog/tool.ts";
import { unknownTool } from "../catalog/tool-catalog.ts";
import { LearnedProject } from "../generation/learning/learned-project.ts";
import { loadPrinters } from "../languages/languages.ts";
import { loadProgramTools } from "../tools/program-tools.ts";
import type { Project } from "./open-project.ts";
import { Refusal } from "./refusal.ts";

/** A tool, and the learned types of its results. */
export interface LearnedTool {
  tool: Tool;
  record: LearnedRecord;
}

/** What a project has learned of results. */
export class Learning {
  readonly #project: Project;
  readonly #learned: LearnedProject;

  /** @throws Refusal if the configuration turns learning off. */
  constructor(project: Project) {
    const { configuration, env } = project;
    if (!configuration.learn)
      throw new Refusal(`nothing is learned: ${configuration.file ?? "ptc.yaml"} has \`learn: off\``);
    this.#project = project;
    this.#learned = new LearnedProject(configuration, env);
  }

  /** Learns from the runs since the last time, or from the whole archive again, and prints the modules anew. */
  async update(options: { again: boolean }): Promise<{ learned: LearnedTool[]; isWritten: boolean }> {
    const { types, isWritten } = await this.#learned.update(options);
    return { learned: withLearned(await this.#tools([]), types), isWritten };
  }

  /** What is known of the named tools, or of all if none is named. @throws Refusal for a name that no tool has. */
  async known(names: readonly string[]): Promise<LearnedTool[]> {
    const tools = await this.#tools(names);
    return withLearned(tools, await this.#learned.known());
  }

  /**
   * Forgets what was learned of the named tools; of every tool, listed or not, if none is named.
   *
   * @returns the tools of which something was known.
   * @throws Refusal for a name that no tool has.
   */
  async forget(names: readonly string[]): Promise<Tool[]> {
    const tools = await this.#tools(names);
    const known = withLearned(tools, await this.#learned.known()).map(({ tool }) => tool);
    await this.#learned.forget(
      ({ server, tool }) =>
        names.length === 0 || tools.some((each) => each.server === server && each.name === tool),
    );
    return known;
  }

  /** The signature of a tool with its learned types, in the first language of the project. */
  async signature({ tool, record }: LearnedTool): Promise<string> {
    const [printer] = await loadPrinters(this.#project.configuration.languages);
    return printer.signature({ ...tool, learned: record }, "full");
  }

  /** @throws Refusal for a name that no tool has. */
  async #tools(names: readonly string[]): Promise<Tool[]> {
    const { all } = await loadProgramTools(this.#project.configuration);
    if (names.length === 0) return all.servers.flatMap(({ tools }) => tools);
    return names.map((name) => {
      const tool = all.find(name);
      if (tool === undefined) throw new Refusal(unknownTool(name, all, "`ptc search`"));
      return tool;
    });
  }
}

/** The tools whose results were learned, among the given ones. */
function withLearned(tools: readonly Tool[], types: LearnedTypes): LearnedTool[] {
  return tools.flatMap((tool) => {
    const { server, name, definitionDigest: definition } = tool;
    const record = types.get(learnedKey({ server, tool: name, definition }));
    return record === undefined ? [] : [{ tool, record }];
  });
}
