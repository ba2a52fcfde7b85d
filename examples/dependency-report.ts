/**
 * What is this project built on? Reads the manifest and the documentation of every direct dependency, in parallel, adds
 * up their sizes, files what it finds in a knowledge graph, and returns a summary. Dozens of tool calls and hundreds of
 * kilobytes of results; the model that wrote it would see the summary alone.
 */
import { getSum } from "./servers/everything/index.js";
import * as filesystem from "./servers/filesystem/index.js";
import * as memory from "./servers/memory/index.js";

interface Manifest {
  version: string;
  license?: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

interface Finding {
  name: string;
  version: string;
  license?: string;
  documented: boolean;
  bytes: number;
}

const project = await readManifest("package.json");
const names = Object.keys({ ...project.dependencies, ...project.devDependencies });
console.log(`reading about ${names.length} packages`);

const findings = await parallel(names.map((name) => () => inspect(name)));

// Tools compose with ordinary code: fold the sizes with one server's tool, and branch on what another has filed.
let total = 0;
for (const { bytes } of findings) {
  const answer: string = await getSum({ a: total, b: bytes });
  total = Number(/is (\d+)/.exec(answer)?.[1] ?? total + bytes);
}

const licences = Map.groupBy(findings, (finding) => finding.license ?? "not stated");
const filed = await memory.openNodes({ names: [...licences.keys()] });
const known = new Set(filed.entities.map((entity) => entity.name));
const news = [...licences].filter(([licence]) => !known.has(licence));
if (news.length > 0) {
  await memory.createEntities({
    entities: news.map(([name, users]) => ({
      name,
      entityType: "licence",
      observations: users.map((user) => `${user.name} ${user.version}`),
    })),
  });
}

globalThis.result = {
  packages: findings.length,
  documentation_bytes: total,
  undocumented: findings.filter((finding) => !finding.documented).map((finding) => finding.name),
  licences: Object.fromEntries([...licences].map(([licence, users]) => [licence, users.length])),
  longest_readme: findings.reduce((a, b) => (a.bytes >= b.bytes ? a : b)).name,
};

async function inspect(name: string): Promise<Finding> {
  const { version, license } = await readManifest(`node_modules/${name}/package.json`);
  try {
    const { content } = await filesystem.readTextFile({ path: `node_modules/${name}/README.md` });
    return { name, version, ...(license && { license }), documented: true, bytes: content.length };
  } catch (error) {
    // A tool that reports an error throws; a package without a README is no reason to give up.
    if (!(error instanceof ToolError)) throw error;
    return { name, version, ...(license && { license }), documented: false, bytes: 0 };
  }
}

async function readManifest(path: string): Promise<Manifest> {
  const { content } = await filesystem.readTextFile({ path });
  return JSON.parse(content);
}
