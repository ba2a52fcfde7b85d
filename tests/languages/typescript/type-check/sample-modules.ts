import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { GeneratedModule } from "../../../../codegen/language-printer.ts";
import { readModule } from "../../../../codegen/typescript/read-module.ts";
import type { ModuleSource } from "../../../../languages/module-source.ts";
import type { TypeChecker } from "../../../../languages/typescript/typescript.ts";
import { generateModule } from "../../../codegen/list-tools.ts";

const text = { type: "string" };
const texts = { type: "array", items: text };

const GITHUB = [
  {
    name: "list_issues",
    description: "Lists issues.",
    inputSchema: {
      type: "object",
      properties: {
        owner: { ...text, description: "Who /* owns */ it" },
        repo: text,
        state: { enum: ["open", "closed", "all"] },
        labels: texts,
        per_page: { type: "number" },
        since: text,
        query: text,
      },
      required: ["owner", "repo"],
    },
  },
  {
    name: "get_issue",
    inputSchema: {
      type: "object",
      properties: { owner: text, repo: text, issue_number: { type: "number" } },
      required: ["owner", "repo", "issue_number"],
    },
    outputSchema: {
      type: "object",
      properties: {
        number: { type: "number" },
        title: text,
        labels: { type: "array", items: { type: "object", properties: { name: text }, required: ["name"] } },
        user: { type: "object", properties: { login: text }, required: ["login"] },
        id: { type: ["string", "number"] },
      },
      required: ["number", "title", "labels"],
    },
  },
  { name: "create_issue", inputSchema: { type: "object", properties: { title: text }, required: ["title"] } },
  { name: "search_code", inputSchema: { type: "object", properties: { q: text, page: { type: "number" } } } },
  { name: "whoami", inputSchema: { type: "object" } },
  {
    name: "delete_entities",
    inputSchema: { type: "object", properties: { entityNames: texts }, required: ["entityNames"] },
  },
  {
    name: "list_labels",
    inputSchema: { type: "object", properties: {} },
    outputSchema: {
      type: "object",
      properties: { result: { type: "array", items: text } },
      required: ["result"],
      title: "list_labelsOutput",
    },
  },
  {
    name: "drop_repo",
    inputSchema: { type: "object", properties: { repo: text } },
    outputSchema: { type: "object", properties: { dropped: text } },
  },
];

const NOTES = [
  {
    name: "add-note",
    inputSchema: {
      type: "object",
      properties: {
        notes: {
          type: "array",
          items: {
            type: "object",
            properties: { title: text, tags: texts, kind: { enum: ["memo", "task"] } },
            required: ["title", "kind"],
          },
        },
      },
      required: ["notes"],
    },
  },
  {
    name: "list_notes",
    inputSchema: { type: "object", properties: { limit: { type: "integer" } } },
    outputSchema: {
      type: "object",
      properties: { notes: { type: "array", items: { type: "object", properties: { title: text } } } },
      required: ["notes"],
    },
  },
];

/** Names that are no identifiers, two of which read alike. */
const ODD = ["run.job-now", "a-b", "a.b", "drop-all"].map((name) => ({
  name,
  inputSchema: { type: "object", properties: { id: text }, required: ["id"] },
}));

/** The tools of small servers, by module and configured name. */
export const SAMPLE_SERVERS = [
  { module: "github", name: "github", tools: GITHUB },
  { module: "my_notes", name: "my-notes", tools: NOTES },
  { module: "odd", name: "odd", tools: ODD },
];

/** Modules as codegen makes them: of small servers, with tools that are not available, and this repository's `filesystem`. */
export async function checkedModules(): Promise<ModuleSource & { loaded: string[] }> {
  const filesystem = join(import.meta.dirname, "../../../../generated/servers/filesystem/index.ts");
  const texts = new Map([
    ["filesystem", readFileSync(filesystem, "utf8")],
    ["github", (await generateModule(GITHUB, "github", "github")).text],
    ["my_notes", (await generateModule(NOTES, "my-notes", "my_notes")).text],
    ["odd", (await generateModule(ODD, "odd", "odd")).text],
  ]);
  const modules = new Map<string, GeneratedModule>();
  for (const [module, text] of texts) {
    const names = readModule(module, text).tools.map(({ namespacedName }) => namespacedName);
    const callable = new Set(names.filter((name) => !/__drop/.test(name)));
    modules.set(module, readModule(module, text, callable));
  }
  const loaded: string[] = [];
  return {
    loaded,
    modules: () => [...modules.keys()],
    async load(module) {
      loaded.push(module);
      return modules.get(module);
    },
  };
}

/** What a checker says of a program: "clean", or its message. */
export async function verdict(
  checker: TypeChecker,
  modules: ModuleSource,
  code: string,
  language = "typescript",
): Promise<string> {
  const outcome = await checker.check({ code, data: {}, language, fileName: "program.ts" }, modules);
  if (outcome.kind === "unchecked") return `unchecked: ${outcome.reason}`;
  return outcome.kind === "errors" ? outcome.message : outcome.kind;
}
