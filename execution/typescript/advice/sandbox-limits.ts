import type { ModuleSource } from "../../prepare/module-source.ts";
import { nameServers } from "../../prepare/name-servers.ts";

/** Errors of Node.js that come of what a sandbox has not, by how their text begins. */
const NETWORK =
  /^(?:\w*Error: )?(?:fetch failed|getaddrinfo |connect E[A-Z]+|queryA?\w* E[A-Z]+|(?:send|bind|listen) E[A-Z]+|Received network error|WebSocket)/;
const LOCAL = /^(?:\w*Error: )?connect ECONNREFUSED (?:127\.|::1)/;
const PROCESS = /^(?:\w*Error: )?(?:spawn(?:Sync)? |Command failed)/;
const READ_ONLY = /^(?:\w*Error: )?(?:EROFS|EACCES|EPERM)\b.*?(?:'([^']*)')?$/;
const NO_FILE = /^(?:\w*Error: )?ENOENT: no such file or directory, (\w+)(?: '([^']*)')?/;
const NO_DATABASE = /^(?:\w*Error: )?unable to open database file/;
const NO_MODULE = /^(?:\w*Error: )?Cannot find (?:module|package) '([^']{1,200})'/;
/** Where a program may write. */
const WRITABLE = /^\/(?:workspace|tmp)(?:\/|$)/;
const WRITES = /\b(?:writeFile|appendFile|createWriteStream|mkdir|cp|copyFile|rename)\w*\s*\(/;
const CREDENTIAL = /\bprocess\.env(?:\.([A-Za-z_]\w*)|\[["']([A-Za-z_]\w*)["']\])/g;
const CREDENTIAL_NAME = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|SESSION|DATABASE|DSN|_URL$|_URI$/i;

/** Advice on an error that comes of what a sandbox has not: a network, the host's files, other programs, packages. */
export function adviseOnLimits(message: string, code: string, source: ModuleSource): string | undefined {
  const [line = ""] = message.split("\n", 1);
  if (NETWORK.test(line)) {
    const local = LOCAL.test(line) ? ", and localhost is the sandbox itself" : "";
    return `${placeOfFetch(message, code)}a program has no network${local}: call a tool of a server instead${nameServers(source)}`;
  }
  if (PROCESS.test(line))
    return `there are no other programs in the sandbox, and no shell: use Node.js, or call a tool of a server${nameServers(source)}`;
  const [, module] = NO_MODULE.exec(line) ?? [];
  if (module !== undefined) return adviseOnRequire(module, source);
  const [, , missing] = NO_FILE.exec(line) ?? [];
  if (missing !== undefined || READ_ONLY.test(line))
    return adviseOnFile(missing ?? READ_ONLY.exec(line)?.[1] ?? "", code);
  return NO_DATABASE.test(line) ? adviseOnFile("", "") : undefined;
}

/** Where the program calls `fetch`, whose failures have no place of their own. */
function placeOfFetch(message: string, code: string): string {
  if (!/^TypeError: fetch failed$/.test(message)) return "";
  const lines = code.split("\n").flatMap((line, index) => (/\bfetch\s*\(/.test(line) ? [index + 1] : []));
  return lines.length === 1 ? `line ${lines[0]}: ` : "";
}

function adviseOnFile(path: string, code: string): string {
  const isWriting = WRITES.test(code) && !WRITABLE.test(path);
  if (isWriting)
    return "a program may write in /workspace only, which is gone when it ends: to keep something, set globalThis.result or call a tool of a server";
  return "a program does not see the files of the host: pass what it needs as data (the argument `data`, or --data), or read it with a tool of a server";
}

function adviseOnRequire(module: string, source: ModuleSource): string {
  const [, server] = /servers\/([a-z0-9_]+)/.exec(module) ?? [];
  if (server !== undefined && source.modules().includes(server))
    return `a program is an ES module: write import * as ${server} from "./servers/${server}/index.js"`;
  return "there are no packages in the sandbox, and a program is one file: use the modules of Node.js and of servers";
}

/** Says that environment variables that look like credentials are not there; `undefined` if the program reads none. */
export function adviseOnCredentials(code: string): string | undefined {
  const read = new Set([...code.matchAll(CREDENTIAL)].map(([, dotted, quoted]) => dotted ?? quoted ?? ""));
  const [name] = [...read].filter((each) => CREDENTIAL_NAME.test(each));
  if (name === undefined) return undefined;
  return `process.env.${name} is not set in the sandbox: a program has no credentials; servers have theirs, and their tools need none from it`;
}
