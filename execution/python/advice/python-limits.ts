import type { ModuleSource } from "../../prepare/module-source.ts";
import { nameServers } from "../../prepare/name-servers.ts";

/** Errors of Python that come of what a sandbox has not, by how their line begins. */
const NETWORK =
  /^(?:[\w.]*\.)?(?:gaierror|URLError|ConnectionRefusedError|ConnectionError|ConnectError)\b|^OSError: \[Errno (?:101|99|97)\]|^(?:[\w.]*\.)?\w*Error: .*(?:Name or service not known|Temporary failure in name resolution|Network is unreachable)/;
const LOCAL = /^(?:[\w.]*\.)?ConnectionRefusedError\b/;
const NO_PACKAGE = /^ModuleNotFoundError: No module named '([^'.]{1,100})/;
const HTTP_PACKAGES: ReadonlySet<string> = new Set([
  "requests",
  "httpx",
  "aiohttp",
  "urllib3",
  "websockets",
  "mcp",
  "fastmcp",
  "openai",
  "anthropic",
]);
const PROCESS =
  /^FileNotFoundError: .*No such file or directory: '(?:\/bin\/)?(?:sh|bash|curl|git|node|npm|pip)'/;
const READ_ONLY = /^(?:OSError: \[Errno 30\]|PermissionError: \[Errno (?:1|13)\])/;
const NO_FILE = /^FileNotFoundError: /;
const WRITES =
  /\bopen\([^)\n]{0,200},[ \t]*(?:mode[ \t]*=[ \t]*)?["'][wax]|\bwrite_(?:text|bytes)\(|\bmkdir\(|\bmakedirs\(/;
const CREDENTIAL = /\bos\.(?:environ\.get\(|getenv\(|environ\[)[ \t]{0,9}["']([A-Za-z_]\w{0,100})["']/g;
const CREDENTIAL_NAME = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|SESSION|DATABASE|DSN|_URL$|_URI$/i;

/** Advice on an error that comes of what a sandbox has not: a network, the host's files, other programs, packages. */
export function advisePythonLimits(line: string, code: string, source: ModuleSource): string | undefined {
  if (NETWORK.test(line)) {
    const local = LOCAL.test(line) ? ", and localhost is the sandbox itself" : "";
    return `a program has no network${local}: call a tool of a server instead${nameServers(source)}`;
  }
  const [, name] = NO_PACKAGE.exec(line) ?? [];
  if (name !== undefined && name !== "servers") return adviseOnPackage(name, source);
  if (PROCESS.test(line))
    return `there are no other programs in the sandbox, and no shell: use Python, or call a tool of a server${nameServers(source)}`;
  if (READ_ONLY.test(line) || (NO_FILE.test(line) && WRITES.test(code)))
    return "a program may write in /workspace only, which is gone when it ends: to keep something, set result or call a tool of a server";
  if (NO_FILE.test(line))
    return "a program does not see the files of the host: pass what it needs as data (the argument `data`, or --data), or read it with a tool of a server";
  return undefined;
}

function adviseOnPackage(name: string, source: ModuleSource): string {
  if (source.modules().includes(name)) return `write \`from servers import ${name}\``;
  if (HTTP_PACKAGES.has(name))
    return `a program has no network: call a tool of a server instead${nameServers(source)}`;
  return "a program has Python's standard library and the packages that `sandbox.python_packages` in ptc.yaml names";
}

/** Says that environment variables that look like credentials are not there; `undefined` if the program reads none. */
export function advisePythonCredentials(code: string): string | undefined {
  const read = [...code.matchAll(CREDENTIAL)].map(([, name = ""]) => name);
  const name = read.find((each) => CREDENTIAL_NAME.test(each));
  if (name === undefined) return undefined;
  return `${name} is not set in the sandbox: a program has no credentials; servers have theirs, and their tools need none from it`;
}
