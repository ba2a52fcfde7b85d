/** Who may import what. Each comment says what to do instead. */
import type { ICruiseOptions, IForbiddenRuleType } from "dependency-cruiser";

/** Folders of ours that a folder may import, besides itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  codegen: ["protocol"],
  catalog: ["protocol", "codegen"],
  broker: ["protocol"],
  sandbox: ["protocol"],
  execution: ["protocol", "broker", "sandbox", "archive"],
  archive: ["protocol"],
  server: ["protocol", "catalog", "broker", "execution"],
  "runner-image": ["protocol"],
  cli: ["protocol", "codegen", "catalog", "broker", "sandbox", "execution", "archive", "server"],
};

const OURS = [...Object.keys(MAY_IMPORT), "generated", "tests", "bench", "scripts", "examples"];

/** Packages that exactly one file may import. */
const SINGLE_IMPORTER = {
  dockerode: "sandbox/docker-engine.ts",
  esbuild: "execution/bundler.ts",
  "json-schema-to-typescript": "codegen/print-types.ts",
  "@modelcontextprotocol/client": "broker/mcp-upstream.ts",
  "@modelcontextprotocol/server": "server/mcp-server.ts",
  typescript: "execution/typescript-api.ts",
};

const folderRules = Object.entries(MAY_IMPORT).map(([folder, allowed]) => ({
  name: `${folder}-imports`,
  comment: `${folder}/ may import ${allowed.map((each) => `${each}/`).join(", ") || "nothing"} of ours: hand in what it needs through an interface that cli/ wires`,
  severity: "error" as const,
  from: { path: `^${folder}/` },
  to: { path: `^(?:${OURS.filter((each) => each !== folder && !allowed.includes(each)).join("|")})/` },
}));

const packageRules = Object.entries(SINGLE_IMPORTER).map(([name, file]) => ({
  name: `one-importer-of-${name}`,
  comment: `only ${file} imports ${name}: use what that file exports`,
  severity: "error" as const,
  from: { path: `^(?:${Object.keys(MAY_IMPORT).join("|")})/`, pathNot: `^${file}$` },
  to: { path: `^node_modules/${name}/` },
}));

export const forbidden: IForbiddenRuleType[] = [
  ...folderRules,
  ...packageRules,
  {
    name: "no-cycles",
    comment: "two files that need each other are one idea, or a third file is missing",
    severity: "error",
    from: { path: `^(?:${Object.keys(MAY_IMPORT).join("|")})/` },
    to: { circular: true },
  },
  {
    name: "codegen-is-pure",
    comment: "codegen/ turns data into text: let the caller read, fetch and write",
    severity: "error",
    from: { path: "^codegen/" },
    to: { dependencyTypes: ["core"], pathNot: "^(?:node:)?crypto$" },
  },
  {
    name: "protocol-packages",
    comment: "protocol/ ships into the image: it takes zod/mini and Node's own modules, nothing else",
    severity: "error",
    from: { path: "^protocol/" },
    to: { path: "^node_modules/", pathNot: "^node_modules/zod/(?:v4/)?mini/" },
  },
  {
    name: "runner-packages",
    comment: "the runner is one small file: no packages but what protocol/ brings",
    severity: "error",
    from: { path: "^runner-image/" },
    to: { path: "^node_modules/" },
  },
  {
    name: "resolvable",
    comment: "this import leads nowhere",
    severity: "error",
    from: {},
    to: { couldNotResolve: true },
  },
];

export const options: ICruiseOptions = {
  parser: "swc",
  tsPreCompilationDeps: true,
  doNotFollow: { path: "node_modules" },
  enhancedResolveOptions: {
    extensions: [".ts", ".js", ".mjs"],
    conditionNames: ["import", "node", "default"],
    exportsFields: ["exports"],
  },
};
