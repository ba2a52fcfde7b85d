/**
 * What is made of a description, as lines of JSON: they come from the process that reads it, and are kept, so that a large one is read
 * once. Each line is small enough to be parsed between two requests.
 */
import { isObject, readJson, writeJson } from "../../base/json.ts";
import type { ToolProblem } from "../upstream.ts";
import { placesOf, readSecuritySchemes, type SecuritySchemes } from "./credentials.ts";
import { type ApiDescription, parseDescription } from "./description.ts";
import {
  type ApiOperation,
  type OperationFilter,
  type PreparedOperation,
  prepareOperations,
  wholeOperation,
} from "./operations.ts";

/** What decides how a description is read, apart from its text. No secret is a part of it. */
export interface PreparationSettings {
  readonly filter: OperationFilter;
  /** The credentials of ptc.yaml, by their security schemes. */
  readonly credentials: readonly string[];
  /** The names of the headers of ptc.yaml. */
  readonly headers: readonly string[];
}

/** An API as its connections need it. */
export interface PreparedApi {
  readonly description: Pick<ApiDescription, "title" | "version" | "servers">;
  readonly schemes: SecuritySchemes;
  readonly operations: readonly ApiOperation[];
  readonly problems: readonly ToolProblem[];
}

/** Definitions in one line. */
const LINE_CHARS = 32 * 1024;
/** An operation that takes more has something that is not bounded otherwise, such as ten thousand encodings. */
const MAX_OPERATION_CHARS = 512 * 1024;
const MAX_FACT_CHARS = 1_000;
const MAX_PROBLEMS = 1_000;

/**
 * Reads a description, and writes what is made of it.
 *
 * @param from says in messages where the text comes from.
 * @throws UpstreamError
 */
export function* prepareApi(text: string, from: string, settings: PreparationSettings): Generator<string> {
  const description = parseDescription(text, from);
  const schemes = readSecuritySchemes(description);
  const always = placesOf(schemes, settings.credentials, settings.headers);
  const { operations, sent, received, problems } = prepareOperations(description, settings.filter, always);
  const { title, version, servers } = description;
  const short = (each: string) => each.slice(0, MAX_FACT_CHARS);
  yield writeJson(["api", { title: short(title), version: short(version), servers }, schemes]);
  for (const [direction, definitions] of Object.entries({ sent, received })) {
    let some: [string, unknown][] = [];
    let chars = 0;
    for (const entry of definitions) {
      some.push(entry);
      chars += writeJson(entry[1]).length;
      if (chars < LINE_CHARS) continue;
      yield writeJson([direction, some]);
      some = [];
      chars = 0;
    }
    if (some.length > 0) yield writeJson([direction, some]);
  }
  const tooLarge: ToolProblem[] = [];
  for (const { paging, ...operation } of operations) {
    const line = writeJson(["operation", { ...operation, paging: { ...paging, types: [...paging.types] } }]);
    if (line.length <= MAX_OPERATION_CHARS) yield line;
    else
      tooLarge.push({
        tool: operation.name,
        message: "is left out: its description is larger than ptc keeps",
      });
  }
  for (const problem of [...tooLarge, ...problems].slice(0, MAX_PROBLEMS))
    yield writeJson(["problem", { ...problem, message: problem.message.slice(0, MAX_FACT_CHARS) }]);
  const more = tooLarge.length + problems.length - MAX_PROBLEMS;
  if (more > 0) yield writeJson(["problem", { message: `${more} more things of it cannot be used` }]);
}

/** Reads the lines of `prepareApi` again, one after the other. */
export class PreparedReader {
  #about: Pick<PreparedApi, "description" | "schemes"> | undefined;
  readonly #definitions = { sent: new Map<string, unknown>(), received: new Map<string, unknown>() };
  readonly #operations: ApiOperation[] = [];
  readonly #problems: ToolProblem[] = [];

  /** @throws Error for a line that ptc has not written. */
  push(line: string): void {
    const [kind, first, second] = readJson(line) as [string, unknown, unknown];
    if (kind === "api" && isObject(first))
      this.#about = {
        description: first as unknown as PreparedApi["description"],
        schemes: second as SecuritySchemes,
      };
    else if (kind === "sent" || kind === "received")
      for (const [name, schema] of first as [string, unknown][]) this.#definitions[kind].set(name, schema);
    else if (kind === "operation") {
      const { paging, ...operation } = first as PreparedOperation;
      const types = new Map(paging.types as Iterable<[string, string]>);
      this.#operations.push(
        wholeOperation({ ...operation, paging: { ...paging, types } }, this.#definitions),
      );
    } else if (kind === "problem") this.#problems.push(first as ToolProblem);
    else throw new Error("a line is of no known kind");
  }

  /** @throws Error if the first line has not come. */
  whole(): PreparedApi {
    if (this.#about === undefined) throw new Error("it does not say what it is");
    return { ...this.#about, operations: this.#operations, problems: this.#problems };
  }
}
