import type { Dice } from "./dice.ts";
import type { MadeUpTool } from "./made-up-tool.ts";

/** Tools whose objects have members and no data as keys. */
export const PLAIN_TOOLS: readonly MadeUpTool[] = [
  {
    name: "list_issues",
    keys: "plain",
    members: paths(
      ".issues .issues[].number .issues[].title .issues[].open .issues[].labels .issues[].labels[].name .issues[].labels[].color",
      ".issues[].assignee .issues[].assignee.login .issues[].assignee.avatar_url .issues[].closed_at .issues[].created_at",
      ".issues[].milestone .issues[].milestone.title .issues[].milestone.due_on .issues[].estimate .next_cursor .total",
    ),
    answer: (d) => ({
      issues: d.many(0, 6, () => ({
        number: d.int(1, 9000),
        title: d.sentence(),
        open: d.chance(0.5),
        labels: d.many(0, 2, () => ({ name: d.letters(5), color: d.hex(6) })),
        assignee: d.chance(0.5) ? null : { login: d.letters(8), avatar_url: `https://i.example/${d.hex(8)}` },
        created_at: d.moment(),
        closed_at: d.chance(0.6) ? null : d.moment(),
        ...(d.chance(0.3) ? { milestone: { title: d.sentence(), due_on: d.day() } } : {}),
        ...(d.chance(0.5) ? { estimate: d.chance(0.5) ? d.int(1, 8) : d.int(1, 80) / 10 } : {}),
      })),
      total: d.int(0, 300),
      ...(d.chance(0.4) ? { next_cursor: d.hex(24) } : {}),
    }),
  },
  {
    name: "poll_events",
    keys: "plain",
    members: paths(
      "[].kind [].at [].commits [].commits[].sha [].commits[].files [].body [].author [].author.id [].from [].to [].reason",
    ),
    answer: (d) =>
      d.many(1, 7, () => {
        const at = d.moment();
        const author = { id: d.int(1, 99) };
        if (d.chance(0.4))
          return { kind: "push", at, commits: d.many(0, 3, () => ({ sha: d.hex(40), files: d.int(1, 30) })) };
        if (d.chance(0.5)) return { kind: "comment", at, body: d.sentence(), author };
        return {
          kind: "moved",
          at,
          from: d.letters(6),
          to: d.letters(6),
          reason: d.chance(0.5) ? null : d.sentence(),
        };
      }),
  },
  {
    name: "quote_series",
    keys: "plain",
    members: paths(".symbol .rows .currency .range .range.from .range.to"),
    answer: (d) => ({
      symbol: d.letters(4, "ABCDEFGHIJ"),
      currency: "EUR",
      range: { from: d.day(), to: d.day() },
      rows: d.many(0, 40, () => [
        d.day(),
        d.int(1, 9),
        d.int(10, 99) / 7,
        d.chance(0.1) ? null : d.letters(2),
      ]),
    }),
  },
  {
    name: "org_chart",
    keys: "plain",
    members: paths(".name .title .reports .reports[].name .reports[].title .reports[].reports"),
    recursive: /^(\.reports\[\])(?:\.reports\[\])+/,
    answer: (d) => person(d, d.int(1, 7)),
  },
  {
    name: "unicode_form",
    keys: "plain",
    members: ["名前", "Straße", "prénom", "возраст", "🎉 party", "İstanbul"].map((name) => `.${name}`),
    answer: (d) => ({
      名前: d.person(),
      Straße: d.sentence(),
      prénom: d.first(),
      возраст: d.int(1, 99),
      ...(d.chance(0.7) ? { "🎉 party": d.chance(0.5) } : {}),
      İstanbul: d.int(0, 4),
    }),
  },
  {
    name: "awkward_names",
    keys: "plain",
    members: paths(
      ".__proto__ .__proto__.polluted .constructor .constructor.name .toString .hasOwnProperty .valueOf .then .length",
    ),
    answer: (d) =>
      JSON.parse(
        `{"__proto__":{"polluted":${d.int(0, 9)}},"constructor":{"name":"${d.letters(5)}"},"toString":1,"hasOwnProperty":null,` +
          `"valueOf":[],"then":"${d.letters(4)}","length":${d.int(0, 9)}}`,
      ),
  },
  {
    name: "hostile_names",
    keys: "plain",
    members: [
      "a b",
      "*/ x",
      'q"uote',
      "back\\slash",
      "dash-ed",
      "dot.ted",
      "$dollar",
      "class",
      "def",
      "None",
      "@type",
      "#text",
    ].map((name) => `.${name}`),
    answer: (d) => ({
      "a b": 1,
      "*/ x": d.letters(4),
      'q"uote': true,
      "back\\slash": null,
      "dash-ed": d.int(1, 5),
      "dot.ted": [],
      $dollar: 1.5,
      class: d.letters(3),
      def: 1,
      None: false,
      "@type": d.letters(4),
      "#text": d.sentence(),
    }),
  },
  {
    name: "graphql_connection",
    keys: "plain",
    members: paths(
      ".data .data.repository .data.repository.pullRequests .data.repository.pullRequests.edges",
      ".data.repository.pullRequests.edges[].cursor .data.repository.pullRequests.edges[].node",
      ".data.repository.pullRequests.edges[].node.id .data.repository.pullRequests.edges[].node.mergedAt",
      ".data.repository.pullRequests.edges[].node.reviews .data.repository.pullRequests.edges[].node.reviews.totalCount",
      ".data.repository.pullRequests.pageInfo .data.repository.pullRequests.pageInfo.hasNextPage",
      ".data.repository.pullRequests.pageInfo.endCursor .errors .errors[].message .errors[].path",
    ),
    answer: (d) => ({
      data: {
        repository: {
          pullRequests: {
            edges: d.many(0, 4, () => ({
              cursor: d.hex(10),
              node: {
                id: d.hex(12),
                mergedAt: d.chance(0.5) ? null : d.moment(),
                reviews: { totalCount: d.int(0, 9) },
              },
            })),
            pageInfo: { hasNextPage: d.chance(0.5), endCursor: d.chance(0.5) ? null : d.hex(10) },
          },
        },
      },
      ...(d.chance(0.2) ? { errors: [{ message: d.sentence(), path: ["data", d.letters(4)] }] } : {}),
    }),
  },
  {
    name: "geo_features",
    keys: "plain",
    members: paths(
      ".type .features .features[].type .features[].geometry .features[].geometry.type .features[].geometry.coordinates",
      ".features[].properties .features[].properties.population .features[].bbox",
    ),
    answer: (d) => ({
      type: "FeatureCollection",
      features: d.many(0, 5, () => ({
        type: "Feature",
        geometry: d.chance(0.5)
          ? { type: "Point", coordinates: [d.int(1, 90) / 3, d.int(1, 90) / 3] }
          : { type: "Polygon", coordinates: [d.many(3, 5, () => [d.int(1, 90), d.int(1, 90) / 3])] },
        properties: { population: d.int(1, 1e6) },
        ...(d.chance(0.3) ? { bbox: [1, 2, 3, 4] } : {}),
      })),
    }),
  },
  {
    name: "late_arrivals",
    keys: "plain",
    members: paths(".hits .hits[].doc .hits[].doc.score .hits[].doc.path .warnings .warnings[].code .took"),
    answer: (d, call) => ({
      hits: call < 2 ? [] : d.many(0, 3, () => ({ doc: { score: d.throw(), path: d.letters(9) } })),
      warnings: call < 4 ? [] : d.many(0, 2, () => ({ code: d.int(1, 9) })),
      took: d.int(1, 50),
    }),
  },
  {
    name: "changing_mind",
    keys: "plain",
    members: paths(".id .value .owner .owner.id .error .error.code"),
    answer: (d) =>
      d.chance(0.2)
        ? { error: { code: d.int(400, 599) } }
        : {
            id: d.chance(0.5) ? d.int(1, 9999) : d.uuid(),
            value: d.one([d.int(1, 9), d.letters(5), null, [d.int(1, 9)], d.chance(0.5)]),
            owner: d.chance(0.5) ? d.email() : { id: d.uuid() },
          },
  },
  {
    name: "long_table",
    keys: "plain",
    members: paths("[].seq [].ok [].note [].rare [].rare.flag"),
    answer: (d) => {
      const rows = Array.from({ length: 4000 }, (_, seq) => ({
        seq,
        ok: d.chance(0.5),
        ...(d.chance(0.3) ? { note: d.letters(6) } : {}),
      }));
      return [...rows.slice(0, 3999), { ...rows[3999], rare: { flag: true } }];
    },
  },
  { name: "plain_text", keys: "plain", members: [], answer: (d) => d.sentence() },
  { name: "a_number", keys: "plain", members: [], answer: (d) => (d.chance(0.5) ? d.int(1, 9) : d.throw()) },
  {
    name: "text_or_json",
    keys: "plain",
    members: paths(".found .found[].line .found[].column"),
    answer: (d) =>
      d.chance(0.3)
        ? "No results."
        : { found: d.many(1, 4, () => ({ line: d.int(1, 999), column: d.int(1, 80) })) },
  },
  {
    name: "json_in_text",
    keys: "plain",
    members: paths(".payload .headers_json .ok"),
    answer: (d) => ({
      payload: JSON.stringify({ [d.uuid()]: { email: d.email() } }),
      headers_json: d.chance(0.5) ? "" : JSON.stringify([{ name: d.first() }]),
      ok: true,
    }),
  },
  {
    name: "profile",
    keys: "plain",
    members: paths(
      ".user_id .email .phone_number .ssn .password_hash .api_key .address .address.street .address.zip .address.country_code",
      ".date_of_birth .credit_card .credit_card.last4 .credit_card.exp_month .oauth2 .oauth2.access_token .ipv4 .sha256 .x .y",
    ),
    answer: (d) => ({
      user_id: d.uuid(),
      email: d.email(),
      phone_number: `+4930${d.digits(7)}`,
      ssn: `${d.digits(3)}-${d.digits(2)}-${d.digits(4)}`,
      password_hash: d.hex(64),
      api_key: `sk_${d.letters(24)}`,
      address: { street: d.sentence(), zip: d.digits(5), country_code: d.letters(2, "ABCDE") },
      date_of_birth: d.day(),
      ...(d.chance(0.6) ? { credit_card: { last4: d.digits(4), exp_month: d.int(1, 12) } } : {}),
      oauth2: { access_token: d.hex(40) },
      ipv4: `10.0.${d.int(1, 9)}.${d.int(1, 9)}`,
      sha256: d.hex(64),
      x: d.throw(),
      y: d.throw(),
    }),
  },
  {
    name: "columns",
    keys: "plain",
    members: paths(
      ".t .v .labels .meta .meta.unit .meta.q1 .meta.q2 .meta.q3 .meta.p95 .meta.p99 .meta.utf8 .meta.h264",
    ),
    answer: (d) => ({
      t: d.many(0, 9, () => d.int(1, 9e9)),
      v: d.many(0, 9, () => (d.chance(0.2) ? null : d.throw())),
      labels: d.many(0, 3, () => d.letters(4)),
      meta: {
        unit: "ms",
        q1: d.throw(),
        q2: d.throw(),
        q3: d.throw(),
        p95: d.int(1, 9),
        p99: d.int(1, 9),
        utf8: true,
        h264: false,
      },
    }),
  },
  {
    name: "deep_settings",
    keys: "plain",
    members: paths(
      ".a .a.b .a.b.c .a.b.c.d .a.b.c.d.e .a.b.c.d.e.f .a.b.c.d.e.f.g .a.b.c.d.e.f.g.h .a.b.c.d.e.f.g.h.i .a.b.c.d.e.f.g.h.i.j",
      ".a.b.c.d.e.f.g.h.i.j.k .a.b.c.d.e.f.g.h.i.j.k.l",
    ),
    answer: (d) =>
      "abcdefghijkl"
        .split("")
        .reverse()
        .reduce<unknown>((inner, name) => ({ [name]: inner }), d.int(1, 9)),
  },
  {
    name: "uniform_members",
    keys: "plain",
    members: paths(
      ".cpu .cpu.used .cpu.limit .memory .memory.used .memory.limit .disk .disk.used .disk.limit .network .network.used .network.limit",
    ),
    answer: (d) =>
      Object.fromEntries(
        ["cpu", "memory", "disk", "network"].map((name) => [name, { used: d.throw(), limit: d.int(1, 9) }]),
      ),
  },
];

function person(d: Dice, depth: number): unknown {
  return {
    name: d.person(),
    title: d.letters(7),
    reports: depth === 0 ? [] : d.many(0, 2, () => person(d, depth - 1)),
  };
}

function paths(...lines: string[]): string[] {
  return lines.flatMap((line) => line.split(" "));
}
