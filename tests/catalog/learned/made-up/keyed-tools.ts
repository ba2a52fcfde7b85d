import type { Dice } from "./dice.ts";
import type { MadeUpTool } from "./made-up-tool.ts";

type Keys = MadeUpTool["keys"];

/** Tools of which some objects are maps: their keys are data, and no member of any type. */
export const KEYED_TOOLS: readonly MadeUpTool[] = [
  ...keysThatLookLikeData(),
  ...keysThatLookLikeNames(),
  {
    name: "scores_by_team_and_person",
    keys: "words",
    members: [".scores", ".scores{}{}.points", ".scores{}{}.since"],
    answer: (d) => ({
      scores: d.keyed(
        2,
        5,
        () => d.letters(7),
        () =>
          d.keyed(
            1,
            6,
            () => d.person(),
            () => ({ points: d.int(1, 99), since: d.day() }),
          ),
      ),
    }),
  },
  {
    name: "pods",
    keys: "data",
    members: [".items", ".items[].name", ".items[].labels", ".items[].restarts"],
    answer: (d) => ({
      items: d.many(1, 5, () => ({
        name: `web-${d.hex(9)}-${d.letters(5)}`,
        restarts: d.int(0, 4),
        labels: d.keyed(
          1,
          4,
          () => `${d.letters(4)}.example.io/${d.letters(6)}`,
          () => d.letters(5),
        ),
      })),
    }),
  },
  {
    name: "tickets_with_custom_fields",
    keys: "data",
    members: [".key", ".fields", ".fields.summary", ".fields.updated"],
    answer: (d) => ({
      key: `ABC-${d.digits(4)}`,
      fields: {
        summary: d.sentence(),
        updated: d.moment(),
        ...d.keyed(
          2,
          8,
          () => `customfield_${d.digits(5)}`,
          () => d.one([null, d.int(1, 9), d.letters(4)]),
        ),
      },
    }),
  },
  {
    name: "query_rows",
    keys: "words",
    members: [".rows", ".rowCount"],
    answer: (d) => {
      const columns = d.many(2, 5, () => d.letters(d.int(4, 9)));
      return {
        rowCount: d.int(0, 9),
        rows: d.many(0, 5, () =>
          Object.fromEntries(columns.map((column) => [column, d.one([1, 2.5, "x", null])])),
        ),
      };
    },
  },
];

function keysThatLookLikeData(): MadeUpTool[] {
  const keys: Record<string, (d: Dice) => string> = {
    uuid: (d) => d.uuid(),
    object_id: (d) => d.hex(24),
    commit: (d) => d.hex(40),
    short_commit: (d) => `${d.hex(6)}7`,
    number: (d) => d.digits(d.int(1, 6)),
    email: (d) => d.email(),
    day: (d) => d.day(),
    moment: (d) => d.moment(),
    month: (d) => d.day().slice(0, 7),
    slack_channel: (d) => `C0${d.letters(9, "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789")}`,
    ulid: (d) => `01${d.letters(24, "0123456789ABCDEFGHJKMNPQRSTVWXYZ")}`,
    stripe_customer: (d) => `cus_${d.letters(14, "ABCDEFGHIJKabcdefghijk0123456789")}`,
    token: (d) => `ghp_${d.letters(36, "ABCDEFGHIJKabcdefghijk0123456789")}`,
    path: (d) => `/home/${d.first().toLowerCase()}/${d.letters(6)}.txt`,
    relative_path: (d) => `src/${d.letters(6)}/${d.letters(5)}.ts`,
    file_name: (d) => `${d.letters(7)}.pdf`,
    url: (d) => `https://${d.letters(6)}.example/${d.letters(4)}`,
    host: (d) => `${d.letters(5)}.${d.letters(6)}.example`,
    ip_address: (d) => `10.${d.int(0, 255)}.${d.int(0, 255)}.${d.int(0, 255)}`,
    phone: (d) => `+49 30 ${d.digits(7)}`,
    iban: (d) => `DE${d.digits(20)}`,
    isbn: (d) => `978-${d.digits(10)}`,
    question: (d) => `How ${d.letters(5)} is your ${d.letters(6)}?`,
    sentence: (d) => d.sentence(),
    full_name: (d) => d.person(),
    issue_key: (d) => `PROJ-${d.digits(4)}`,
    plate: (d) => `B-${d.letters(2, "ABCXYZ")} ${d.digits(4)}`,
    version: (d) => `${d.int(0, 20)}.${d.int(0, 20)}.${d.int(0, 20)}`,
    coordinates: (d) => `${d.int(10, 90)}.${d.digits(4)},${d.int(10, 90)}.${d.digits(4)}`,
    base64: (d) => `${d.letters(22, "ABCDEFghijklMNOPQR0123456789+/")}==`,
    urn: (d) => `urn:li:person:${d.letters(10, "ABCDEFghijkl0123")}`,
    role_arn: (d) => `arn:aws:iam::${d.digits(12)}:role/${d.letters(6)}`,
    handle: (d) => `@${d.first().toLowerCase()}${d.digits(2)}`,
    prefixed_number: (d) => `user_${d.digits(4)}`,
  };
  return Object.entries(keys).flatMap(([name, key]) => [
    keyed(`scalars_by_${name}`, "data", key, (d) => d.int(1, 9)),
    keyed(
      `records_by_${name}`,
      "data",
      key,
      (d) => ({ count: d.int(1, 9), ...(d.chance(0.5) ? { note: d.letters(6) } : {}) }),
      [".count", ".note"],
    ),
  ]);
}

function keysThatLookLikeNames(): MadeUpTool[] {
  const keys: Record<string, (d: Dice) => string> = {
    word: (d) => d.letters(d.int(3, 9)),
    currency: (d) => d.letters(3, "ABCDEFGHIJKLMNOPRSTUVXYZ"),
    first_name: (d) => d.first(),
    login: (d) => `${d.letters(1)}${d.first().toLowerCase()}`,
    package: (d) => `${d.letters(5)}-${d.letters(4)}`,
    branch: (d) => d.one(["main", `fix-${d.letters(6)}`, `feature-${d.letters(5)}`]),
    locale: (d) => d.one("en de fr es it pt nl pl cs sv da fi el tr ar he ja ko zh".split(" ")),
    setting: (d) => `${d.letters(6)}_${d.letters(6)}`.toUpperCase(),
  };
  return Object.entries(keys).flatMap(([name, key]) => [
    keyed(`scalars_by_${name}`, "words", key, (d) => d.int(1, 9)),
    keyed(`records_by_${name}`, "words", key, (d) => ({ count: d.int(1, 9), since: d.day() }), [
      ".count",
      ".since",
    ]),
  ]);
}

/** A tool with members around a map, and the map beside a list. */
function keyed(
  name: string,
  keys: Keys,
  key: (dice: Dice) => string,
  value: (dice: Dice) => unknown,
  below: readonly string[] = [],
): MadeUpTool {
  return {
    name,
    keys,
    members: [".generated_at", ".entries", ...below.map((member) => `.entries{}${member}`)],
    answer: (d) => ({
      generated_at: d.moment(),
      entries: d.keyed(
        0,
        9,
        () => key(d),
        () => value(d),
      ),
    }),
  };
}
