import { isObject } from "../../base/json.ts";
import { byCodeUnit } from "../../protocol/canonical-json.ts";

/**
 * The form of observed JSON values at one place: kinds and names, and how often they were seen. A shape contains no value of the
 * data. Merging (`mergeShapes`) never narrows a shape, so that the order of observations makes no difference.
 */
export interface Shape {
  /** How many values were seen at this place. */
  readonly seen: number;
  /** Set for a place that is too deep or too large to learn. Nothing else is known about it. */
  readonly isAny?: true;
  readonly isNull?: true;
  readonly isBoolean?: true;
  /** `integer` while no value had a fraction. */
  readonly number?: "integer" | "number";
  readonly string?: StringShape;
  /** The shape of all elements of all arrays, whatever their position. */
  readonly items?: Shape;
  readonly object?: ObjectShape;
}

export interface StringShape {
  /** The format that every text had, or `plain` if they share none. */
  readonly format: string;
  /**
   * The texts that were seen, sorted, as long as the tool's definition lists each one as a choice. `undefined` after any other
   * text, so that a shape never keeps text of the data.
   */
  readonly choices?: readonly string[];
}

export interface ObjectShape {
  /** How many objects were seen. */
  readonly seen: number;
  /** By name. A map, because `__proto__` is a name like any other. */
  readonly members: ReadonlyMap<string, Shape>;
  /** The shape of members whose names are data, such as ids, dates and addresses. The names are not kept. */
  readonly rest?: Shape;
  /** Set if there were too many names for an object that is not a map. All members are then in `rest`. */
  readonly isMap?: true;
}

/** The shape of a place where nothing was seen. */
export const NOTHING: Shape = { seen: 0 };

/** The number of levels of arrays and objects to learn. Everything deeper is any. */
const MAX_SHAPE_DEPTH = 10;

/** The most names of one object. An object with more names is a map. */
export const MAX_MEMBERS = 120;

/** The most choices of one text. A text with more choices has none. */
export const MAX_CHOICES = 24;

/** The most places in the shape of one tool's results. */
export const MAX_SHAPE_PLACES = 1_500;

/** The number of places of a shape, including itself. */
export function countPlaces(shape: Shape): number {
  let count = 1;
  if (shape.items !== undefined) count += countPlaces(shape.items);
  for (const each of shape.object?.members.values() ?? []) count += countPlaces(each);
  if (shape.object?.rest !== undefined) count += countPlaces(shape.object.rest);
  return count;
}

/** Bounds a shape to at most `maxPlaces` places. The deepest levels of a larger shape become any. */
export function boundShape(shape: Shape, maxPlaces = MAX_SHAPE_PLACES): Shape {
  let bounded = shape;
  for (let depth = MAX_SHAPE_DEPTH; depth >= 0 && countPlaces(bounded) > maxPlaces; depth--)
    bounded = cutBelow(shape, depth);
  return bounded;
}

function cutBelow(shape: Shape, depth: number): Shape {
  const { items, object } = shape;
  if (items === undefined && object === undefined) return shape;
  if (depth === 0) return { seen: shape.seen, isAny: true };
  return {
    ...shape,
    ...(items && { items: cutBelow(items, depth - 1) }),
    ...(object && {
      object: {
        ...object,
        members: new Map([...object.members].map(([name, each]) => [name, cutBelow(each, depth - 1)])),
        ...(object.rest && { rest: cutBelow(object.rest, depth - 1) }),
      },
    }),
  };
}

/** The most elements of one array to look at in a result of a tool. */
const MAX_ELEMENTS = 200;

/** The most members of one object to look at. */
const MAX_LOOKED_AT = 1_000;

/** The most values within one value to look at. Later values are ignored. */
const MAX_VALUES = 20_000;

/**
 * The shape of one JSON value of any size.
 *
 * @param words texts that the tool's definition lists as choices. No other text can become part of a shape.
 * @param maxElements the most elements of one array to look at, evenly spread.
 */
export function observeShape(
  value: unknown,
  words: ReadonlySet<string> = new Set(),
  maxElements = MAX_ELEMENTS,
): Shape {
  let left = MAX_VALUES;
  const look = (each: unknown, depth: number): Shape => {
    left--;
    if (each === null || each === undefined) return { seen: 1, isNull: true };
    switch (typeof each) {
      case "boolean":
        return { seen: 1, isBoolean: true };
      case "number":
        return { seen: 1, number: Number.isInteger(each) ? "integer" : "number" };
      case "bigint":
        return { seen: 1, number: "integer" };
      case "string": {
        const format = formatOf(each);
        return { seen: 1, string: words.has(each) ? { format, choices: [each] } : { format } };
      }
    }
    if (depth >= MAX_SHAPE_DEPTH) return { seen: 1, isAny: true };
    if (Array.isArray(each)) {
      const items = spread(each, maxElements).reduce<Shape>(
        (before, item) => (left <= 0 ? before : mergeShapes(before, look(item, depth + 1))),
        NOTHING,
      );
      return { seen: 1, items };
    }
    return isObject(each) ? { seen: 1, object: lookInto(each, depth) } : { seen: 1, isAny: true };
  };
  const lookInto = (object: Record<string, unknown>, depth: number): NonNullable<Shape["object"]> => {
    const members = new Map<string, Shape>();
    let rest: Shape | undefined;
    let looked = 0;
    for (const name of Object.keys(object)) {
      if (left <= 0 || looked++ >= MAX_LOOKED_AT) break;
      const shape = look(object[name], depth + 1);
      if (isDataName(name)) rest = rest === undefined ? shape : mergeShapes(rest, shape);
      else members.set(name, shape);
    }
    const own = { seen: 1, members, ...(rest && { rest }) };
    // Merging makes a map of an object with too many names.
    const merged = mergeShapes(
      { seen: 1, object: own },
      { seen: 0, object: { seen: 0, members: new Map() } },
    );
    return merged.object ?? own;
  };
  return look(value, 0);
}

function spread(items: readonly unknown[], most: number): readonly unknown[] {
  if (items.length <= most) return items;
  const step = items.length / most;
  return Array.from({ length: most }, (_, i) => items[Math.floor(i * step)]);
}

/** The patterns of formats. The format of a text reveals nothing about its content. */
const FORMATS: readonly (readonly [string, RegExp])[] = [
  ["date-time", /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?$/],
  ["date", /^\d{4}-\d\d-\d\d$/],
  ["uuid", /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i],
  ["uri", /^https?:\/\/[^\s]{1,2000}$/],
  ["email", /^[^\s@<>]{1,64}@[^\s@<>]{1,255}\.[a-z]{2,24}$/i],
];

/** Longer texts have no format. */
const MAX_CHARS = 2_048;

/** The name of a text's format in JSON Schema, `json` for an array or object as text, or else `plain`. */
function formatOf(text: string): string {
  if (text.length > MAX_CHARS) return "plain";
  const format = FORMATS.find(([, pattern]) => pattern.test(text))?.[0];
  return format ?? (isJson(text) ? "json" : "plain");
}

function isJson(text: string): boolean {
  if (!/^\s*(?:\{[\s\S]*\}|\[[\s\S]*\])\s*$/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The longest name of a member. */
const MAX_NAME_CHARS = 64;

/** Matches usual names of members: words of letters and digits, joined by `_`, `-` and at most one `:`, after an `@` or `$`. */
const MEMBER = /^[@$]?[\p{L}_][\p{L}\p{M}\p{N}_-]*(?::[\p{L}_][\p{L}\p{M}\p{N}_-]*)?$/u;

/**
 * Whether the name of a member looks like data: an id, a date, a number, an address, a path, a sentence, a hash. ptc does not
 * keep such a name. In doubt, a name is data, because a member that is missing from a type costs less than an id in it.
 */
export function isDataName(name: string): boolean {
  if (name.length > MAX_NAME_CHARS || !MEMBER.test(name)) return true;
  const digits = name.replace(/\P{N}/gu, "").length;
  if (digits >= 4 || /[-_]\d{2,}$/.test(name)) return true;
  // A ticket or a key: letters in capitals, a hyphen, a number, which has one digit here.
  if (/^[A-Z]{2,}-\d$/.test(name)) return true;
  if (digits > 0 && name.length >= 8 && /^[0-9a-f-]+$/i.test(name)) return true;
  // A short commit, and a handle. `@type` and the like have no digits.
  if (/^(?=.*\d)[0-9a-f]{7,}$/.test(name) || (digits > 0 && name.startsWith("@"))) return true;
  return isRandomLetters(name) || isRandomCase(name) || name.split(/[^\p{L}\p{N}]+/u).some(isRandomWord);
}

/** Whether a name without a usual word has capitals in random places, like a token. */
function isRandomCase(name: string): boolean {
  return (
    name.split(/[^\p{L}\p{N}]+/u).some((word) => word.length >= 10 && casesIn(word) > word.length / 5) &&
    !hasMemberWord(name)
  );
}

function casesIn(word: string): number {
  return word.match(/\p{Ll}(?=\p{Lu})|\p{Lu}(?=\p{Lu}\p{Ll})/gu)?.length ?? 0;
}

/** Whether letters, digits and cases alternate as in a token, and not as in `utf8`, `sha256` or `httpURL`. */
function isRandomWord(word: string): boolean {
  const turns = word.match(/\p{L}(?=\p{N})|\p{N}(?=\p{L})/gu)?.length ?? 0;
  if (/^[A-Z]\d[A-Z\d]{7,}$/.test(word)) return true;
  return turns >= 3 || (word.length >= 10 && turns > 0 && turns + casesIn(word) > word.length / 4);
}

/** Whether the case of letters changes as often as in a token. */
function isRandomLetters(name: string): boolean {
  if (name.length < 16) return false;
  const changes = name.match(/[a-z](?=[A-Z0-9])|[A-Z0-9](?=[A-Z0-9][a-z])/g)?.length ?? 0;
  return changes > name.length / 4;
}

/**
 * The shape of all values of either shape. Merging is commutative and associative. Merging a shape with itself changes only
 * counts.
 */
export function mergeShapes(a: Shape, b: Shape): Shape {
  const seen = a.seen + b.seen;
  if (a.isAny || b.isAny) return { seen, isAny: true };
  return {
    seen,
    ...((a.isNull ?? b.isNull) && { isNull: true }),
    ...((a.isBoolean ?? b.isBoolean) && { isBoolean: true }),
    ...either("number", a.number, b.number, (x, y) => (x === y ? x : "number")),
    ...either("string", a.string, b.string, mergeStrings),
    ...either("items", a.items, b.items, mergeShapes),
    ...either("object", a.object, b.object, mergeObjects),
  };
}

function either<Name extends string, Value>(
  name: Name,
  a: Value | undefined,
  b: Value | undefined,
  both: (a: Value, b: Value) => Value,
): { [key in Name]?: Value } {
  if (a === undefined && b === undefined) return {};
  const value = a === undefined ? b : b === undefined ? a : both(a, b);
  return { [name]: value } as { [key in Name]?: Value };
}

function mergeStrings(a: StringShape, b: StringShape): StringShape {
  const format = a.format === b.format ? a.format : "plain";
  if (a.choices === undefined || b.choices === undefined) return { format };
  const choices = [...new Set([...a.choices, ...b.choices])].sort(byCodeUnit);
  return choices.length > MAX_CHOICES ? { format } : { format, choices };
}

function mergeObjects(a: ObjectShape, b: ObjectShape): ObjectShape {
  const members = new Map(a.members);
  for (const [name, shape] of b.members) {
    const known = members.get(name);
    members.set(name, known === undefined ? shape : mergeShapes(known, shape));
  }
  const rest = either("rest", a.rest, b.rest, mergeShapes);
  const merged = { seen: a.seen + b.seen, members, ...rest };
  return a.isMap || b.isMap || members.size > MAX_MEMBERS ? asMap(merged) : merged;
}

/** Turns the names of an object into data. */
export function asMap({ seen, members, rest }: ObjectShape): ObjectShape {
  const values = [...members.values()].reduce(mergeShapes, rest ?? NOTHING);
  return { seen, members: new Map(), rest: values, isMap: true };
}

/**
 * Words of which members' names consist in the data of many servers, in lower case and in the singular. They occur in many
 * definitions of tools, and none is the name of a person.
 */
const WORDS: ReadonlySet<string> = new Set(
  `
abstract accept access account accuracy action active actor actual add added additional additions address
after age agent alias align all allocated allow alt altitude amount and annotation answer api app approval
archived area args aria array as asset assigned assignee at atime attachment attempt attribute audience auth
authentication author auto available avatar average avg axis azure background balance bank base batch battery
before begin bio bit blob block body book bool boolean bottom bounds box branch brand browser bucket budget
bug build bundle button by byte cache calendar call candidate capacity caption card cart case catalog category
cell center certificate change channel char chart check checksum children chunk circle city class clean cli
client clock close closed closing cloud cluster code coefficient collection color column command comment
commit company compiler completed complexity component concurrency condition confidence config confirm
conflict connect connected constructor consumer contact container content context continue contrast
contributor cookie coordinate copy core correct cost count country coverage cpu crash create created
credential css csv ctime currency current cursor custom customer cwd daily dashboard data database date day db
debug decimal decision default definition degree delay delete deleted deletions department dependencies
dependency deploy deployment depth desc description destination destructive detail developer device diff
digest dimensions dir direction directory disabled discount discussion disk display distance district division
doc document domain done download draft driver drop dry due duplicate duration edge edit edited edition editor
effect element email emoji employee empty enable enabled encoding end endpoint engine enterprise entity
entries entry env environment epoch equity error eta etag event exchange exclude executable execution exit exp
expire expired expiry export expression extension external extra face failed failure fallback family favorite
feature fee feed fetch field file filename filter fingerprint finish finished first fix fk flag flow folder
follower following font footer for force foreign fork format formatted forward found framework free frequency
friend from full func function gender generated geo geometry gid git given global grade graph grid group guest
guid has hash head header heading health height help hidden high hint history hit home host hour house href
html http huge human icon id identifier identity idle ignore image img impact import in include increment
index industry info init initial inner inode input inserted install instance instruction int integer intent
interest interface internal interval inventory invoice io ip is isdir isfile iso issue item iteration job join
joined js json jwt keep kernel key keyword kind label lang language large last lat latency latest latitude
lead leaf left len length level license like liked limit line link linked list live lng load loaded local
locale location lock locked log login logo logout lon long longitude lookup low lower machine mail maintainer
major manager map mapping margin markdown market matched material max maximum mean measure median medium
member memory mention menu merge mergeable merged message meta metadata method metric middle milestone mime
min minimum minor minutes missing mobile mode model modified module money month mount move movie ms mtime
multi music name namespace native network never new next nick nickname nlink no node none normal note
notification nullable num number numeric oauth object observation occurrence of offset old on online only open
opened operand operating operation operator opinion optimal option order organization origin original os out
outcome outer output overall override overwrite owned owner package page pagination pair paper parallel
parameter parent parse part partial participant partition passed password patch path pattern payload payment
pdf peak pending people per percent percentage percentile period permission persist person phase phone photo
picture pid ping pinned pipeline pixel pk place placeholder plan platform player plural point policy poll pool
popularity population port position post postal postcode power precision prediction preferred prefix present
preview previous price primary print priority private probability problem process processed producer product
profile profit progress project prompt proof properties property proto protocol prototype provider proxy
public published publisher purchase push pwd quality quantity query question queue quick quota quote radius
range rate rating ratio raw read reader ready reason received recent recipient recommend recommendation record
redirect ref reference refresh region registry rejected rel related relation relationship relative release
remaining remark remote remove render replace replica reply repo report repository request require required
reserved reset resolution resolve resolved resource response responsible restart result retries retry return
returned review reviewed reviewer revision reward right risk role room root rotation route router rule run
runtime salary sale sample save scale scanned schedule schema scheme scope score script sdk search sec seconds
secret section security seed segment selected selector sender sent sentence sentiment sequence serial series
service session set setting severity sex sha share shared shipping shop short show sign signal signature
signed signin signup similarity since single site size skip skipped sku slug small snapshot socket software
sold solution sort source space speaker speed spend sprint sql squash src stack stage star starred start
started stat state station statistic status std stderr stdout step stock stop stopped storage store story
strategy stream street strength strict string struct style sub subject submit subscriber subscription success
suffix suggest suggestion sum summary supplier support supported surface surname swap symbol sync synced
syntax system table tag tail target task tax team temperature template temporary tenant term terminal test
text theme thread threshold thumbnail ticket tie tier time timeout timestamp timezone tip title to token tool
top topic total touched trace track tracking trade traffic transaction transfer transform translation
transport tree trend trigger truncated trusted ttl turn type ui uid unique unit unread until update updated
upload uploaded upper upsert uptime uri url usage usd use used user username utc utf uuid ux valid validate
value variables variant vector vendor verbose verify version vertex via video view viewer virtual visibility
vote voter wait wallet warn warning watch watcher weather webhook website week weight width wiki wind window
winner with word worker workspace world write written wrong xml yaml year yearly yield zip zone zoom
`
    .trim()
    .split(/\s+/),
);

/** Matches usual names of one letter: coordinates, times, values, counts and queries. */
const SINGLE_LETTERS = /[xyztvnkq]/;

/**
 * Whether a name contains a usual word or letter of members' names. In a name with a hyphen all words must be usual, because
 * titles and branches have hyphens too. A false result says nothing about a name.
 */
export function hasMemberWord(name: string): boolean {
  const words = name.split(/[^\p{L}]+/u).filter((word) => word !== "");
  return words.length > 0 && (name.includes("-") ? words.every(isMemberWord) : words.some(isMemberWord));
}

/** @param joined words that only capitals separate. */
function isMemberWord(joined: string): boolean {
  if (joined.length === 1) return SINGLE_LETTERS.test(joined);
  const words = joined
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(" ");
  return words.some((word) => WORDS.has(word) || WORDS.has(singular(word)));
}

function singular(word: string): string {
  return word.endsWith("ies") ? `${word.slice(0, -3)}y` : word.replace(/s$/, "");
}
