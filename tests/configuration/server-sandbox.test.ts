import { expect, test } from "vitest";
import { parseConfiguration } from "../../configuration/parse.ts";
import { sandboxOf } from "../../configuration/server-sandbox.ts";

function parse(server: object, sandbox: object = {}) {
  const text = JSON.stringify({ sandbox, servers: [{ name: "s", command: "node", ...server }] });
  return parseConfiguration(text, { file: "ptc.yaml", directory: "/project", environment: {} });
}

function sandboxIn(server: object, sandbox: { servers?: "required" | "wanted" | "off" } = {}) {
  const { servers, sandbox: settings } = parse(server, sandbox);
  const [first] = servers;
  return first && sandboxOf(first, settings.servers);
}

test("an entry says what its sandbox reaches; `true` is one that reaches nothing", () => {
  expect(sandboxIn({ sandbox: true })).toEqual({ network: [], files: [], memoryMb: 512 });
  expect(
    sandboxIn({
      sandbox: {
        network: [
          "API.example.com",
          "*.example.com:8443",
          "db.internal:5432",
          { host: "db.example.com", private: true },
        ],
        files: [{ path: "./data" }, { path: "/elsewhere", write: true }],
        memory_mb: 256,
      },
    }),
  ).toEqual({
    network: [
      { host: "api.example.com", ports: [443, 80], isPrivate: false },
      { host: "*.example.com", ports: [8_443], isPrivate: false },
      { host: "db.internal", ports: [5_432], isPrivate: true },
      { host: "db.example.com", ports: [443, 80], isPrivate: true },
    ],
    files: [
      { path: "/project/data", write: false },
      { path: "/elsewhere", write: true },
    ],
    memoryMb: 256,
  });
});

test("`sandbox.servers` decides for servers whose entry says nothing", () => {
  const nothing = { network: [], files: [], memoryMb: 512 };
  expect(sandboxIn({})).toBeUndefined();
  expect(sandboxIn({}, { servers: "wanted" })).toEqual(nothing);
  expect(sandboxIn({}, { servers: "required" })).toEqual(nothing);
  expect(sandboxIn({ sandbox: false }, { servers: "wanted" })).toBeUndefined();
});

test.each([
  [{ network: ["10.0.0.5"] }, /network\[0\].*is an address, and a server reaches names alone/],
  [{ network: ["[::1]:80"] }, /network\[0\].*is an address/],
  [{ network: ["*"] }, /would be every host/],
  [{ network: ["https://api.example.com"] }, /must be a host such as api\.example\.com/],
  [{ network: ["api.example.com/path"] }, /must be a host/],
  [{ network: ["a.*.example.com"] }, /must be a host/],
  [{ network: ["api.example.com:70000"] }, /has no port from 1 to 65535/],
  [{ network: ["localhost"] }, /needs a port: write localhost:PORT/],
  [{ network: ["x.localhost:80"] }, /is this machine; write localhost:PORT/],
  [{ network: "observe" }, /must be a list of hosts/],
  [{ files: [{ path: ".", write: true }] }, /would let the server write \.ptc, which says what it may do/],
  [{ files: [{ path: ".ptc", write: true }] }, /would let the server write \.ptc/],
  [{ files: [{ path: "ptc.yaml", write: true }] }, /would let the server write ptc\.yaml/],
  [{ files: [{ path: "/", write: true }] }, /would let the server write/],
  [{ files: [{ path: "~/x" }] }, /begins with ~/],
  [{ memory_mb: 1 }, /must be a whole number from 64/],
  [{ install_scripts: true }, /is not a known key/],
  ["yes", /must be true, false, or a mapping/],
])("%j is refused in one line that names its place", (sandbox, problem) => {
  expect(() => parse({ sandbox })).toThrow(problem);
  expect(() => parse({ sandbox })).toThrow(/^ptc\.yaml:1: servers\[0\]\.sandbox[^\n]*$/);
});

test("a server elsewhere has no sandbox, and none may be without one where all are required", () => {
  expect(() => parse({ command: undefined, url: "https://x.example/mcp", sandbox: true })).toThrow(
    "goes with a `command` alone",
  );
  expect(() => parse({ sandbox: false }, { servers: "required" })).toThrow(
    "cannot be false where `sandbox.servers` is required",
  );
});
