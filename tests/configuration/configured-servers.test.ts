// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test
import { describe, expect, it } from "vitest";
import { describeOffServers, offServers } from "../../configuration/configured-servers.ts";
import { parse, problemIn } from "./parse-text.ts";

const SERVERS = `servers:
  - name: git-hub
    command: x
    args: ["--host", "\${HOST_NAME}"]
    env:
      MODE: plain-literal-value
      TOKEN: "\${HUB_TOKEN}"
      OTHER: "\${SET_VALUE} and \${HUB_TOKEN}"
  - name: b
    url: "https://\${B_HOST}/mcp"
    headers: { Authorization: "Bearer \${B_TOKEN}" }
  - name: fine
    command: y
    env: { KEY: "\${SET_VALUE}", REST: "\${UNSET:-default}" }
`;
const ENVIRONMENT = { SET_VALUE: "value-that-is-set" };

describe("a server that needs a variable that is not set", () => {
  it("is off, with the variables, the place and what to do, and takes no other with it", () => {
    const configuration = parse(SERVERS, ENVIRONMENT);
    expect(configuration.servers.map(({ name, off }) => [name, off !== undefined])).toEqual([
      ["git-hub", true],
      ["b", true],
      ["fine", false],
    ]);
    expect(describeOffServers(configuration)).toEqual([
      "server 'git-hub' is off: HOST_NAME, HUB_TOKEN are not set in the environment (ptc.yaml:4: servers[0].args[1]); set them where ptc is started, or write ${HOST_NAME:-default}",
      "server 'b' is off: B_HOST, B_TOKEN are not set in the environment (ptc.yaml:10: servers[1].url); set them where ptc is started, or write ${B_HOST:-default}",
    ]);
    expect([...offServers(configuration).keys()]).toEqual(["git_hub", "b"]);
    expect(configuration.servers[2]).toMatchObject({ env: { KEY: "value-that-is-set", REST: "default" } });
  });

  it("leaves nothing of what could not be expanded, and keeps its other values secret", () => {
    const configuration = parse(SERVERS, ENVIRONMENT);
    expect(JSON.stringify(configuration.servers.map(({ off, ...rest }) => rest))).not.toContain("${");
    expect(configuration.secrets).toEqual(["plain-literal-value", "value-that-is-set", "default"]);
  });

  it("is not off when the variable is set to nothing", () => {
    const [server] = parse('servers: [{name: a, command: x, env: {A: "${A}"}}]', { A: "" }).servers;
    expect(server).toMatchObject({ off: undefined, env: { A: "" } });
  });

  it("is still refused for what is wrong with it otherwise", () => {
    const unset = 'servers:\n  - name: a\n    env: { A: "${A}" }\n';
    expect(problemIn(unset)).toContain("has neither `command` nor `url`");
    expect(problemIn(`${unset}    command: "\${B"\n`)).toContain("has a `${` that is not `${NAME}`");
    expect(problemIn(`${unset}    url: "https://h/"\n`)).toContain(
      "servers[0].env: does not go with transport",
    );
  });
});
