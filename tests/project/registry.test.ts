import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type GivenValues, waysOf } from "../../project/registry/proposal.ts";
import { findInRegistry } from "../../project/registry/registry.ts";
import { readServer } from "../../project/registry/server-json.ts";
import { newFolder } from "../temporary-folder.ts";

const OFFICIAL = "io.modelcontextprotocol.registry/official";

const npm = { registryType: "npm", identifier: "@example/weather", version: "1.2.0" };

/** An entry of a registry's list. */
function entryOf(server: object, official: object = {}) {
  const whole = { name: "io.github.example/weather", description: "Weather", version: "1.2.0", ...server };
  return { server: whole, _meta: { [OFFICIAL]: { status: "active", ...official } } };
}

function proposed(server: object, given: Partial<GivenValues> = {}, kind?: string) {
  const { ways } = waysOf(readServer(entryOf(server)));
  const way = kind === undefined ? ways[0] : ways.find((each) => each.kind === kind);
  return way?.entry("weather", { env: [], header: [], argument: [], ...given });
}

describe("a package of a registry", () => {
  it.each([
    ["npm", npm, ["npx", "-y", "@example/weather@1.2.0"]],
    ["npm with a launcher", { ...npm, runtimeHint: "bunx" }, ["bunx", "@example/weather@1.2.0"]],
    [
      "npm that says -y itself",
      { ...npm, runtimeArguments: [{ type: "positional", value: "-y" }] },
      ["npx", "-y", "@example/weather@1.2.0"],
    ],
    [
      "pypi",
      { registryType: "pypi", identifier: "weather-mcp", version: "0.5.0" },
      ["uvx", "--from", "weather-mcp==0.5.0", "weather-mcp"],
    ],
    [
      "pypi with pipx",
      { registryType: "pypi", identifier: "weather-mcp", version: "0.5.0", runtimeHint: "pipx" },
      ["pipx", "run", "weather-mcp==0.5.0"],
    ],
    [
      "an image, with the variables that it gets",
      {
        registryType: "oci",
        identifier: "ghcr.io/example/weather:1.2.0",
        environmentVariables: [{ name: "UNITS", default: "c" }],
      },
      ["docker", "run", "-i", "--rm", "-e", "UNITS", "ghcr.io/example/weather:1.2.0"],
    ],
    [
      "an image whose version stands apart",
      { registryType: "oci", identifier: "localhost:5000/weather", version: "2" },
      ["docker", "run", "-i", "--rm", "localhost:5000/weather:2"],
    ],
    [
      "an image with options that ptc gives anyway, and a variable",
      {
        ...{ registryType: "oci", identifier: `a.example/b@sha256:${"0".repeat(64)}` },
        runtimeArguments: [
          { type: "positional", value: "--rm" },
          { type: "named", name: "-i" },
          { type: "named", name: "-e", value: "KIND={kind}", variables: { kind: { default: "sql" } } },
        ],
      },
      ["docker", "run", "-i", "--rm", "-e", "KIND=sql", `a.example/b@sha256:${"0".repeat(64)}`],
    ],
    [
      "pypi with an extra",
      { registryType: "pypi", identifier: "weather[cli]", version: "0.5.0rc1" },
      ["uvx", "--from", "weather[cli]==0.5.0rc1", "weather"],
    ],
    [
      "nuget",
      {
        registryType: "nuget",
        identifier: "Example.Weather",
        version: "0.4.0-beta",
        packageArguments: [{ type: "positional", value: "mcp" }],
      },
      ["dnx", "Example.Weather@0.4.0-beta", "--yes", "--", "mcp"],
    ],
  ])("of kind %s is started by its launcher", (_, each, words) => {
    const { command, args = [] } = proposed({ packages: [each] })?.entry ?? {};
    expect([command, ...args]).toEqual(words);
  });

  it.each([
    ["a kind that ptc does not run", { ...npm, registryType: "mcpb" }, /does not run packages of this kind/],
    ["the name of a method of objects", { ...npm, registryType: "constructor" }, /does not run packages/],
    ["its own command", { ...npm, runtimeHint: "sh" }, /does not start packages with 'sh'/],
    ["an option as its name", { ...npm, identifier: "--call=rm" }, /is not that of a package/],
    ["a URL as its name", { ...npm, identifier: "https://evil.example/x.tgz" }, /is not that of a package/],
    ["an option as its version", { ...npm, version: "1 --call x" }, /has no fixed version/],
    ["an option as its image", { registryType: "oci", identifier: "-v/:/host" }, /is not that of an image/],
    ["no version", { ...npm, version: undefined }, /has no fixed version/],
    ["the latest version", { ...npm, version: "latest" }, /has no fixed version/],
    ["a range", { ...npm, version: "1.x" }, /has no fixed version/],
    [
      "an image of no version",
      { registryType: "oci", identifier: "a.example/b" },
      /image has no fixed version/,
    ],
    [
      "the latest image",
      { registryType: "oci", identifier: "a.example/b:latest" },
      /image has no fixed version/,
    ],
    ...[
      [npm, { type: "positional", value: "https://evil.example/x.tgz" }],
      [npm, { type: "positional", value: "--package=evil" }],
      [npm, { type: "named", name: "--package", value: "evil" }],
      [npm, { type: "named", name: "--yes", value: "evil" }],
      [npm, { type: "positional", value: "-y{a}", variables: { a: { value: "" } } }],
      [npm, { type: "positional", valueHint: "anything" }],
      [
        { ...npm, registryType: "pypi", identifier: "a" },
        { type: "named", name: "--index-url", value: "https://evil" },
      ],
      [
        { ...npm, registryType: "pypi", identifier: "a" },
        { type: "named", name: "--with", value: "evil" },
      ],
      [
        { ...npm, registryType: "pypi", identifier: "a" },
        { type: "named", name: "-e", value: "." },
      ],
      [
        { registryType: "oci", identifier: "a:1" },
        { type: "named", name: "-v", value: "/:/host" },
      ],
      [
        { registryType: "oci", identifier: "a:1" },
        { type: "positional", value: "--privileged" },
      ],
      [
        { registryType: "oci", identifier: "a:1" },
        { type: "positional", value: "evil:1" },
      ],
    ].map(([each, argument]): [string, object, RegExp] => [
      `${JSON.stringify(argument)} for its launcher`,
      { ...each, runtimeArguments: [argument] },
      /does not give '.*' to what starts packages/,
    ]),
    ["a port instead of stdio", { ...npm, transport: { type: "sse", url: "http://x" } }, /serves HTTP/],
  ])("with %s is not run, and its person reads why", (_, each, why) => {
    const { ways, others } = waysOf(readServer(entryOf({ packages: [each] })));
    expect(ways).toEqual([]);
    expect(others).toEqual([expect.stringMatching(why)]);
  });

  it("gets arguments, variables in them, repeated ones and switches, in order", () => {
    const packageArguments = [
      { type: "named", name: "--stateless" },
      { type: "named", name: "--mode", default: "local", choices: ["local", "proxy"] },
      { type: "named", name: "--port", description: "the port" },
      {
        type: "named",
        name: "--mount",
        value: "src={from},dst={to}",
        variables: { from: {}, to: { value: "/p" } },
      },
      { type: "positional", valueHint: "folder", isRequired: true, isRepeated: true },
    ];
    const argument: [string, string][] = [
      ["folder", "/a"],
      ["from", "/data"],
      ["folder", "/b"],
    ];
    const words = (given: [string, string][]) =>
      proposed({ packages: [{ ...npm, packageArguments }] }, { argument: given })?.entry.args?.slice(2);
    const mount = ["--mount", "src=/data,dst=/p"];
    expect(words(argument)).toEqual(["--stateless", "--mode", "local", ...mount, "/a", "/b"]);
    expect(words([...argument, ["mode", "proxy"], ["port", "1"], ["port", "2"]])).toEqual([
      ...["--stateless", "--mode", "proxy", "--port", "2", ...mount, "/a", "/b"],
    ]);
    expect(() => words([["mode", "other"]])).toThrow("mode must be one of local, proxy");
  });

  it("gets secret arguments by a variable of ptc's environment", () => {
    const packageArguments = [
      { type: "named", name: "--pin", isSecret: true },
      { type: "positional", value: "key={key}", variables: { key: { isSecret: true } } },
    ];
    const argument: [string, string][] = [
      ["pin", "1234"],
      ["key", "${MINE}"],
    ];
    const { entry, variables } = proposed({ packages: [{ ...npm, packageArguments }] }, { argument }) ?? {};
    expect(entry?.args?.slice(2)).toEqual(["--pin", "${WEATHER_PIN}", "key=${MINE}"]);
    expect(variables).toEqual([{ variable: "WEATHER_PIN", secret: "1234" }]);
  });

  it("says which of its variables are secret, whatever they look like", () => {
    const environmentVariables = [{ name: "UNITS" }, { name: "WORD", isSecret: true, isRequired: true }];
    const { ways } = waysOf(readServer(entryOf({ packages: [{ ...npm, environmentVariables }] })));
    const env: [string, string][] = [
      ["WORD", "abc"],
      ["MORE", "of the person"],
    ];
    const given = { env, header: [], argument: [["what", "1"] as const] };
    expect(ways[0]?.open(given).map(({ key }) => key)).toEqual(["UNITS"]);
    expect(ways[0]?.unknown({ ...given, header: [["X", "1"]] })).toEqual(["--header X", "--argument what"]);
    expect(ways[0]?.entry("weather", given)).toMatchObject({
      entry: { env: { WORD: "abc", MORE: "of the person" } },
      secretKeys: ["WORD"],
    });
  });
});

describe("a URL of a registry", () => {
  const remote = {
    type: "streamable-http",
    url: "https://{tenant}.example.com/mcp",
    variables: { tenant: { isRequired: true } },
    headers: [{ name: "Authorization", value: "Bearer {token}", variables: { token: { isSecret: true } } }],
  };

  it("is filled in, and so are its headers", () => {
    const argument: [string, string][] = [
      ["tenant", "acme"],
      ["token", "abc"],
    ];
    expect(proposed({ remotes: [remote] }, { argument })).toEqual({
      entry: {
        ...{ name: "weather", transport: "http", url: "https://acme.example.com/mcp" },
        headers: { Authorization: "Bearer abc" },
      },
      secretKeys: ["Authorization"],
      variables: [],
    });
    const header: [string, string][] = [["x-region", "eu"]];
    const regional = {
      type: "sse",
      url: "https://a.example",
      headers: [{ name: "X-Region", default: "us" }],
    };
    expect(proposed({ remotes: [regional] }, { header })?.entry).toMatchObject({
      ...{ transport: "sse", headers: { "X-Region": "eu" } },
    });
  });

  it("is left alone where values would make it another's", () => {
    const free = { type: "sse", url: "https://{a}.example.com/", variables: { a: { isRequired: true } } };
    const at = (value: string) => () => proposed({ remotes: [free] }, { argument: [["a", value]] });
    expect(at("acme")()?.entry.url).toBe("https://acme.example.com/");
    expect(at("evil@")).toThrow("is no URL of a server");
    expect(() => proposed({ remotes: [free] })).toThrow("needs its values");
    expect(proposed({ remotes: [{ ...remote, variables: { tenant: { value: "a" } } }] })?.entry.headers).toBe(
      undefined,
    );
    expect(
      waysOf(readServer(entryOf({ remotes: [remote] }))).ways[0]?.unknown({
        env: [["A", "1"]],
        header: [],
        argument: [],
      }),
    ).toEqual(["--env A"]);
  });

  it("of another kind is not for ptc", () => {
    const others = [
      { type: "sse", url: "http://a.example/mcp" },
      { type: "sse", url: "https://api.example.com@evil.example/" },
      { type: "grpc", url: "https://a.example" },
      { type: "sse", url: "file:///etc/passwd" },
    ];
    expect(waysOf(readServer(entryOf({ remotes: others })))).toEqual({
      ways: [],
      others: [
        expect.stringContaining("is not reached by https"),
        expect.stringContaining("is no URL over HTTP"),
        expect.stringContaining("does not speak 'grpc'"),
        expect.stringContaining("no URL over HTTP"),
      ],
    });
  });
});

describe("a description of a stranger", () => {
  // ptc.yaml would put the value of ptc's own variable there.
  const own = "${AWS_SECRET_ACCESS_KEY}";
  it.each([
    ["an argument", { packages: [{ ...npm, packageArguments: [{ type: "positional", value: own }] }] }],
    ["a default", { packages: [{ ...npm, environmentVariables: [{ name: "A", default: own }] }] }],
    ["a variable", { packages: [{ ...npm, environmentVariables: [{ name: "A", value: own }] }] }],
    [
      "a variable of a variable",
      {
        packages: [
          { ...npm, environmentVariables: [{ name: "A", value: "{b}", variables: { b: { value: own } } }] },
        ],
      },
    ],
    ["a choice", { packages: [{ ...npm, environmentVariables: [{ name: "A", choices: [own] }] }] }],
    ["a name", { packages: [{ ...npm, packageArguments: [{ type: "named", name: own }] }] }],
    ["a package", { packages: [{ ...npm, identifier: own }] }],
    ["a launcher", { packages: [{ ...npm, runtimeHint: own }] }],
    ["a URL", { remotes: [{ type: "sse", url: `https://evil.example/${own}` }] }],
    [
      "a header",
      { remotes: [{ type: "sse", url: "https://a.example", headers: [{ name: "X", value: own }] }] },
    ],
  ])("cannot name a variable of ptc's environment in %s", (_, server) => {
    expect(() => readServer(entryOf(server))).toThrow(/is not usable: .*must not contain `\$`/);
  });

  it("cannot name one together with the values that it asks for", () => {
    const packageArguments = [{ type: "positional", value: "{a}{HOME}", variables: { a: {} } }];
    const words = (value: string) =>
      proposed({ packages: [{ ...npm, packageArguments }] }, { argument: [["a", value]] })?.entry.args?.at(
        -1,
      );
    expect(words("b")).toBe("b{HOME}");
    expect(words("${MINE}")).toBe("${MINE}{HOME}");
    expect(() => words("b$")).toThrow("a value with `$` at its end");
  });

  it.each([
    "PATH",
    "NODE_OPTIONS",
    "LD_PRELOAD",
    "npm_config_registry",
    "UV_INDEX_URL",
    "DOCKER_HOST",
    "HTTPS_PROXY",
  ])("cannot set %s, which decides what runs", (name) => {
    for (const value of [{ value: "x" }, { default: "x" }, {}]) {
      const environmentVariables = [{ name, ...value }];
      expect(() => readServer(entryOf({ packages: [{ ...npm, environmentVariables }] }))).toThrow(
        "names a variable that decides which code runs",
      );
    }
  });

  it.each(["\u009b2J", "\u202e", "\n", "\u2028"])("cannot hide anything behind %j", (character) => {
    const packageArguments = [{ type: "positional", value: `a${character}b` }];
    expect(() => readServer(entryOf({ packages: [{ ...npm, packageArguments }] }))).toThrow(
      "must not contain control or format characters",
    );
  });

  it("whose secrets share a name has a variable for each", () => {
    const packageArguments = [
      { type: "named", name: "--token", isSecret: true },
      { type: "positional", valueHint: "address" },
    ];
    const argument: [string, string][] = [
      ["token", "first-secret"],
      ["address", "https://h.example/?token=abcd1234efgh5678"],
    ];
    const { entry, variables = [] } =
      proposed({ packages: [{ ...npm, packageArguments }] }, { argument }) ?? {};
    expect(JSON.stringify(entry)).not.toMatch(/first-secret|abcd1234/);
    expect(new Set(variables.map(({ variable }) => variable)).size).toBe(2);
    expect(variables.map(({ secret }) => secret)).toEqual(["first-secret", "abcd1234efgh5678"]);
  });

  it.each([
    ["no name of its kind", entryOf({ name: "weather" }), "name: must be NAMESPACE/NAME"],
    ["a package without a name", entryOf({ packages: [{ registryType: "npm" }] }), "packages[0].identifier"],
    ["no version", { name: "a/b" }, "'a/b' is not usable: version"],
    ["a control character", entryOf({ name: "a/\u001b[2J" }), "\\u{1b}"],
  ])("with %s is refused in one line", (_, entry, said) => {
    let message = "";
    try {
      readServer(entry);
    } catch (error) {
      ({ message } = error as Error);
    }
    expect(message).toContain(said);
    expect(message).not.toContain("\n");
    expect(message).not.toContain("\u001b");
  });
});

describe("a registry", () => {
  const versions = ["1.0.0", "1.2.0", "1.1.0"].map((version, index) =>
    entryOf({ version, packages: [npm] }, { publishedAt: `2026-0${[1, 3, 2][index]}-01T00:00:00Z` }),
  );
  const other = entryOf({ name: "com.example/weather" });

  /** A registry that is served, with the paths that it was asked for. */
  async function served(answers: Readonly<Record<string, unknown>>) {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? "");
      const answer = answers[request.url ?? ""];
      response.statusCode = answer === undefined ? 404 : 200;
      response.end(typeof answer === "string" ? answer : JSON.stringify(answer ?? {}));
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    return { url: `http://127.0.0.1:${port}`, asked };
  }

  const find = (registry: string, name: string, version?: string) =>
    findInRegistry({ name, version, registry }, new AbortController().signal);

  function mirror(content: unknown): string {
    const file = join(newFolder(), "mirror.json");
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
    return file;
  }

  it.each([
    ["a list of the API", { servers: versions }],
    ["a bare list", versions],
  ])("can be a file with %s", async (_, content) => {
    const file = mirror(content);
    const { server, otherVersions } = await find(file, "weather");
    expect([server.name, server.version, server.publishedAt?.slice(0, 10)]).toEqual([
      ...["io.github.example/weather", "1.2.0", "2026-03-01"],
    ]);
    expect(otherVersions).toEqual(["1.0.0", "1.1.0"]);
    expect((await find(file, "io.github.example/weather", "1.0.0")).server.version).toBe("1.0.0");
    await expect(find(file, "weather", "9")).rejects.toThrow(
      "has no version '9' of io.github.example/weather; it has 1.0.0, 1.2.0, 1.1.0",
    );
  });

  it("can be a file with one server.json", async () => {
    expect((await find(mirror(entryOf({}).server), "weather")).server.description).toBe("Weather");
  });

  it("prefers the version that it calls its latest", async () => {
    const file = mirror([...versions, entryOf({ version: "0.9.0" }, { isLatest: true })]);
    expect((await find(file, "weather")).server.version).toBe("0.9.0");
  });

  it.each([
    [
      "two servers of the name",
      [...versions, other],
      "weather",
      /several servers .*: io.github.example\/weather, com/,
    ],
    ["no such server", [other], "nope/weather", /has no server 'nope\/weather'; it has com.example\/weather/],
    [
      "a withdrawn server",
      [entryOf({}, { status: "deleted" })],
      "weather",
      /has withdrawn io.github.example\/weather 1/,
    ],
    ["something else", { tools: [] }, "weather", /is no list of servers/],
  ])("with %s refuses in one line", async (_, content, name, said) => {
    await expect(find(mirror(content), name)).rejects.toThrow(said);
  });

  it("that is no JSON, or not there, says so", async () => {
    await expect(find(mirror("{"), "a/b")).rejects.toThrow("is not JSON that ptc can read");
    await expect(find(join(newFolder(), "none.json"), "a/b")).rejects.toThrow("there is no such file");
  });

  it("is asked by its API for the versions of a name, and for names that contain it", async () => {
    const { url, asked } = await served({
      "/v0.1/servers/io.github.example%2Fweather/versions": { servers: versions },
      "/v0.1/servers?search=weather&version=latest&limit=100": {
        ...{ servers: [versions[1]], metadata: { nextCursor: "next" } },
      },
      "/v0.1/servers?search=weather&version=latest&limit=100&cursor=next": { servers: [other] },
      "/mirror.json": versions,
    });
    expect((await find(url, "io.github.example/weather")).server.version).toBe("1.2.0");
    await expect(find(`${url}/v0.1/`, "weather")).rejects.toThrow("several servers");
    await expect(find(url, "nope/weather")).rejects.toThrow(
      /has no server .* it has io.github.example\/weather/,
    );
    expect((await find(`${url}/mirror.json`, "weather")).server.version).toBe("1.2.0");
    expect(asked).toEqual([
      "/v0.1/servers/io.github.example%2Fweather/versions",
      "/v0.1/servers?search=weather&version=latest&limit=100",
      "/v0.1/servers?search=weather&version=latest&limit=100&cursor=next",
      "/v0.1/servers/nope%2Fweather/versions",
      "/v0.1/servers?search=weather&version=latest&limit=100",
      "/v0.1/servers?search=weather&version=latest&limit=100&cursor=next",
      "/mirror.json",
    ]);
    await expect(find(`${url}/else.json`, "weather")).rejects.toThrow("answered HTTP 404");
    const endless = await served(
      new Proxy({}, { get: () => ({ servers: [other], metadata: { nextCursor: "more" } }) }),
    );
    await expect(find(endless.url, "weather")).rejects.toThrow("has too many servers with 'weather'");
  });
});
