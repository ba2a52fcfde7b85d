/**
 * Words that names of members are made of in the data of many servers, in lower case and in the singular. They are in many definitions
 * of tools, and none is the name of a person.
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

/** Coordinates, times, values, counts and queries. */
const SINGLE_LETTERS = /[xyztvnkq]/;

/**
 * Whether the name of a member has a word in it that names of members have, or a letter that they are. Of names with a hyphen all words
 * have to be such, because titles and branches have hyphens too. Of other names nothing follows.
 */
export function hasMemberWord(name: string): boolean {
  const words = name.split(/[^\p{L}]+/u).filter((word) => word !== "");
  return words.length > 0 && (name.includes("-") ? words.every(isMemberWord) : words.some(isMemberWord));
}

/** @param joined words that are joined by capitals alone. */
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
