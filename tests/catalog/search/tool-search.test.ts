import { describe, expect, it } from "vitest";
import { found, indexOf, tool } from "./catalog-of-tools.ts";

const search = indexOf(
  tool("github", "create_issue", { description: "Create a new issue in a GitHub repository" }),
  tool("github", "list_issues", { description: "List issues in a repository" }),
  tool("github", "create_pull_request", { description: "Create a new pull request" }),
  tool("gitlab", "create_issue", { description: "Create a new issue in a GitLab project" }),
  tool("weather", "getForecast", { description: "Weather forecast for a city", inputSchema: cityAndDays() }),
  tool("weather", "airqualityindex", { description: "Pollution today" }),
  tool("weather", "legend", { description: "What the words of an air quality index mean" }),
  tool("search_engine", "search", { description: "Search the web" }),
  tool("kv", "what_is_on", { description: "Switches" }),
  tool("mail", "dispatch", { title: "Send an e-mail" }),
  tool("tenki", "tenki", { description: "天気予報を取得する" }),
);

function cityAndDays() {
  return {
    type: "object",
    properties: {
      where: {
        type: "object",
        properties: { municipality: { type: "string", description: "Zip code or settlement" } },
      },
      days: { type: "array", items: { anyOf: [{ description: "Ordinal of the weekday" }] } },
      unit: { $ref: "#/$defs/unit" },
    },
    $defs: { unit: { description: "Fahrenheit or Celsius" } },
  };
}

describe("search", () => {
  const first: [query: string, name: string][] = [
    ["open an issue on github", "mcp__github__create_issue"],
    ["creating issues in GitLab", "mcp__gitlab__create_issue"],
    ["listing the issues", "mcp__github__list_issues"],
    ["please could you help me with forecasts", "mcp__weather__getForecast"],
    ["air quality", "mcp__weather__airqualityindex"],
    ["airquality", "mcp__weather__airqualityindex"],
    ["send email", "mcp__mail__dispatch"],
    ["municipality", "mcp__weather__getForecast"],
    ["settlement", "mcp__weather__getForecast"],
    ["weekday", "mcp__weather__getForecast"],
    ["celsius", "mcp__weather__getForecast"],
    ["天気", "mcp__tenki__tenki"],
    ["what is on?", "mcp__kv__what_is_on"],
  ];
  for (const [query, name] of first) {
    it(`finds ${name} first for '${query}'`, () => {
      expect(found(search, query)[0]).toBe(name);
    });
  }

  const names: [query: string, name: string][] = [
    ["mcp__gitlab__create_issue", "mcp__gitlab__create_issue"],
    ["create_pull_request", "mcp__github__create_pull_request"],
    ["createPullRequest", "mcp__github__create_pull_request"],
    ["get_forecast", "mcp__weather__getForecast"],
    ["github.create_issue", "mcp__github__create_issue"],
    ["search", "mcp__search_engine__search"],
    ["create_pul_request", "mcp__github__create_pull_request"],
    ["getForcast", "mcp__weather__getForecast"],
    ["mcp__gitlab__creat_isue", "mcp__gitlab__create_issue"],
    ["xist_issue", "mcp__github__list_issues"],
    ["tneki", "mcp__tenki__tenki"],
  ];
  for (const [query, name] of names) {
    it(`finds ${name} first for the name '${query}'`, () => {
      expect(found(search, query)[0]).toBe(name);
    });
  }

  it("puts a name before a description that says the same twice", () => {
    const two = indexOf(
      tool("a", "chatty", {
        description: "Invoice talk: everything about an invoice and what it costs you to write one on time",
      }),
      tool("b", "get_invoice"),
    );
    expect(found(two, "invoice")).toEqual(["mcp__b__get_invoice", "mcp__a__chatty"]);
  });

  it("puts a tool of just that name before one that repeats it", () => {
    const two = indexOf(
      tool("evil", "run_run", { title: "Run, run, run", description: "Run!" }),
      tool("b", "run"),
    );
    expect(found(two, "run")).toEqual(["mcp__b__run", "mcp__evil__run_run"]);
  });

  it("puts a tool that has all words before one that repeats one of them", () => {
    const two = indexOf(
      tool("a", "chatty", { description: "invoice ".repeat(30) }),
      tool("b", "useful", { description: "invoice email customer" }),
      tool("c", "other", { description: "something else" }),
    );
    expect(found(two, "invoice email customer")).toEqual(["mcp__b__useful", "mcp__a__chatty"]);
    expect(found(two, "invoice")).toEqual(["mcp__a__chatty", "mcp__b__useful"]);
  });

  it("takes a word that is written with a seam as the one word that it is elsewhere", () => {
    const two = indexOf(tool("git", "hub_status", { description: "Git hub" }), tool("x", "stars_of_github"));
    expect(found(two, "GitHub")).toEqual(["mcp__x__stars_of_github"]);
  });

  it("prefers what fits one clause of a query to what fits a little of each", () => {
    const two = indexOf(
      tool("a", "x", { description: "red city bridge" }),
      tool("b", "y", { description: "old yellow car" }),
    );
    expect(found(two, "red sour apple, old yellow city car, big stone bridge")[0]).toBe("mcp__b__y");
  });

  it("remembers how well the best clause fits, also where a later one fits less", () => {
    const two = indexOf(
      tool("a", "x", { description: "red city bridge" }),
      tool("b", "y", { description: "old yellow car" }),
    );
    expect(found(two, "old yellow car, red stone car, big city bridge")[0]).toBe("mcp__b__y");
  });

  it("reads no clause into another after many of which no tool has a word", () => {
    const two = indexOf(
      tool("a", "x", { description: "red city bridge" }),
      tool("b", "y", { description: "old yellow car" }),
    );
    const unknown = "qqqq, ".repeat(24);
    expect(found(two, `${unknown}red sour apple, old yellow city car, big stone bridge`)[0]).toBe(
      "mcp__b__y",
    );
  });

  it("keeps a place for the best of each need, of up to three", () => {
    const many = indexOf(
      ...Array.from({ length: 9 }, (_, i) => tool("a", `red_apple_tree_${i}`)),
      tool("b", "x", { description: "One of many ways to have an invoice at hand" }),
      tool("c", "y", { description: "One of many ways to have a bridge at hand" }),
      tool("d", "z", { description: "One of many ways to have a pencil at hand" }),
    );
    const servers = (query: string) => found(many, query, { limit: 4 }).map((name) => name.split("__")[1]);
    const apples = "red apple tree";
    expect(servers(`${apples}, shiny invoice`)).toEqual(["a", "a", "a", "b"]);
    expect(servers(`${apples}, shiny invoice, shiny bridge`)).toEqual(["a", "a", "b", "c"]);
    expect(servers(`${apples}, shiny invoice, shiny bridge, shiny pencil`)).toEqual(["a", "a", "a", "a"]);
  });

  it("finds what each clause of a query names", () => {
    const query = "List the issues of the repository. After that, show me the weather forecast for Paris.";
    expect(found(search, query).slice(0, 2).sort()).toEqual([
      "mcp__github__list_issues",
      "mcp__weather__getForecast",
    ]);
  });

  it("looks among one server's tools when told so, and finds none of a server that it does not have", () => {
    expect(found(search, "create issue", { server: "gitlab" })).toEqual(["mcp__gitlab__create_issue"]);
    expect(found(search, "mcp__github__create_issue", { server: "weather" })).toEqual([]);
    expect(search.search("issue", { server: "nowhere", limit: 5 })).toEqual({ results: [], total: 0 });
  });

  it("tells how many match when it returns fewer", () => {
    const many = indexOf(...Array.from({ length: 30 }, (_, index) => tool("s", `report_${index}`)));
    const { results, total } = many.search("report", { limit: 7 });
    expect(results).toHaveLength(7);
    expect(total).toBe(30);
    expect(many.search("report", { limit: 0 })).toEqual({ results: [], total: 30 });
  });

  it("finds every tool of names that are like one without a known word, and returns no more than it may", () => {
    const several = indexOf(
      ...["c", "a", "b"].map((server) => tool(server, "create_issue")),
      tool("b", "createisse"),
      tool("a", "tenki"),
    );
    const like = (limit: number, server?: string) => {
      const { results, total } = several.search("kreate_isu", { limit, server });
      return [total, ...results.map((hit) => [hit.tool.namespacedName, hit.score])];
    };
    const [a, b, c] = ["a", "b", "c"].map((server) => [`mcp__${server}__create_issue`, 1]);
    const next = ["mcp__b__createisse", 0.5];
    expect(like(4)).toEqual([4, a, b, c, next]);
    expect(like(2)).toEqual([4, a, b]);
    expect(like(2, "b")).toEqual([2, b, next]);
    expect(like(2, "nowhere")).toEqual([0]);
  });

  it.each([
    ["municpality", "mcp__x__get_forecast"],
    ["municiaplty", "mcp__x__get_forecast"],
    ["forcast", "mcp__x__get_forecast"],
    ["settl", "mcp__y__list_settlements"],
    ["sett", "mcp__y__list_settlements"],
    ["set", undefined],
    ["unicipality", undefined],
    ["munixyality", undefined],
  ])("finds what a word misspells or begins that no tool has: %s", (query, name) => {
    const two = indexOf(
      tool("x", "get_forecast", { description: "Weather of a municipality" }),
      tool("y", "list_settlements"),
    );
    expect(found(two, query)).toEqual(name === undefined ? [] : [name]);
    two.setServer("x", []);
    two.setServer("y", []);
    expect(found(two, query)).toEqual([]);
  });

  it("knows where words are joined in a name from the prose of its own server", () => {
    const joined = indexOf(
      tool("weather", "airqualityindex", { description: "Pollution" }),
      tool("weather", "legend", { description: "What the words of an air quality index mean" }),
      tool("other", "airqualityindex", { description: "Pollution" }),
    );
    for (const query of ["quality", "index"])
      expect(found(joined, query).sort()).toEqual(["mcp__weather__airqualityindex", "mcp__weather__legend"]);
  });

  it("puts what few tools say before what many say", () => {
    const reports = Array.from({ length: 9 }, (_, i) => tool("a", `report_${i}`, { description: "Report" }));
    const more = indexOf(...reports, tool("z", "write_invoice", { description: "Invoice" }));
    expect(found(more, "report invoice")[0]).toBe("mcp__z__write_invoice");
  });

  it("does not count as matches what only shares a word of asking with the query", () => {
    const two = indexOf(
      tool("a", "forecast", { description: "Weather forecast" }),
      tool("b", "x", { description: "Gives what you need and want" }),
    );
    expect(two.search("I need a weather forecast", { limit: 5 }).total).toBe(1);
  });

  it("orders equal scores by namespaced name", () => {
    const equal = indexOf(tool("c", "ping"), tool("a", "ping"), tool("b", "ping"));
    expect(found(equal, "ping")).toEqual(["mcp__a__ping", "mcp__b__ping", "mcp__c__ping"]);
  });

  it("gives scores that never rise down the list", () => {
    const scores = search.search("create_issue", { limit: 10 }).results.map(({ score }) => score);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    expect(scores.length).toBeGreaterThan(2);
  });
});
