/**
 * Prints the table of docs/savings.md with what the twelve tasks of `examples/recipes` cost where more and more tools are connected: those of
 * real servers, whose lists are in a folder (`{server, tools}` in one file each).
 *
 *     node scripts/savings-by-tools.ts --lists FOLDER
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { ServerTools, Tool } from "../catalog/tool.ts";
import { buildServerModel } from "../catalog/tool-model.ts";
import { namespacedName, serverModule } from "../protocol/tool-names.ts";
import { countSavings, type Reading } from "./docs/savings/count-savings.ts";

/** How many tools are connected, those of the six servers of the examples among them. */
const SIZES = [96, 251, 508];

/** The servers that come beside those six, in this order: what teams connect first. The last one is cut to reach a size. */
const BESIDE = [
  ...["github", "slack-ref", "linear", "notion", "sentry", "google-drive", "supabase", "hubspot"],
  ...["playwright", "mongodb", "heroku", "n8n", "figma-console"],
];

const { values } = parseArgs({ options: { lists: { type: "string" } } });
if (values.lists === undefined) {
  console.error("savings-by-tools: --lists names a folder with what servers answer to tools/list");
  process.exit(2);
}
const servers = BESIDE.map((name) => readServer(join(values.lists ?? "", `${name}.json`)));
const OWN = (await countSavings())[0]?.tools ?? 0;
console.log("| tools | direct | tool search, perfect | tool search, five at a time | ptc | direct / ptc |");
console.log(`|${"---:|".repeat(6)}`);
for (const size of SIZES) {
  const counted = await countSavings(upTo(size - OWN));
  const [found] = counted;
  if (found?.tools !== size) throw new Error(`there are ${found?.tools} tools, not ${size}`);
  const unseen = counted.filter((each) => each.unseen.length > 0).map(({ program }) => program);
  if (unseen.length > 0) console.error(`${size} tools: no search shows all tools of ${unseen.join(", ")}`);
  const sum = (of: (each: (typeof counted)[number]) => Reading) =>
    counted.reduce((total, each) => total + of(each).tokens, 0);
  const [direct, perfect, five, ptc] = [
    sum(({ everything }) => everything),
    sum(({ searched }) => searched),
    sum(({ ranked }) => ranked),
    sum((each) => each.ptc),
  ];
  const cells = [size, direct, perfect, five, ptc].map((each) => each.toLocaleString("en"));
  console.log(`| ${[...cells, (direct / ptc).toFixed(1)].join(" | ")} |`);
}

/** Servers with so many tools together. */
function upTo(tools: number): ServerTools[] {
  let left = tools;
  return servers.flatMap((server) => {
    const taken = server.tools.slice(0, Math.max(0, left));
    left -= taken.length;
    return taken.length === 0 ? [] : [{ ...server, tools: taken }];
  });
}

/** A list as the catalog has it. */
function readServer(file: string): ServerTools {
  const {
    server: name,
    serverInfo: implementation,
    protocolVersion,
    tools,
  } = JSON.parse(readFileSync(file, "utf8"));
  const module = serverModule(name);
  const { server } = buildServerModel({ name, implementation, protocolVersion, tools }, module);
  return {
    name,
    module,
    description: undefined,
    implementation: { name, version: "1" },
    tools: server.tools.map(
      ({ definition, identifier }) =>
        ({
          ...definition,
          identifier,
          module,
          server: name,
          definitionDigest: definition.name,
          namespacedName: namespacedName(module, definition.name),
        }) as Tool,
    ),
  };
}
