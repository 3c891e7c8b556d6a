"""Word pools the synthetic chats draw names, things and values from.

A pool is a tuple, so that no task can change it. Order and length matter: together with the seed
they decide what a Sampler draws, so adding a word changes every chat drawn after it.
"""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FIRST_NAMES = _words("""
    Alice Bob Carol David Emma Frank Grace Henry Irene Jack Karen Liam Maria Noah Olivia Peter
    Quinn Rosa Samuel Tina Ursula Victor Wendy Xavier Yara Zoe Aaron Bella Carlos Diana Ethan
    Fiona George Hannah Ivan Julia Kevin Laura Martin Nina Oscar Paula Rachel Simon Theresa
    Ulrich Vera Walter Yusuf Zara Anna Bruno Clara Daniel Elena Felix Gloria Hugo Ingrid Jonas
    Kira Leon Mia Nora Otto Petra Rafael Sofia Thomas Amir Beatrice Chen Dmitri Esther Farid
    Greta Hassan Isabel Jorge Kenji Lucia Mateo Nadia Omar Priya Ravi Sanjay Tomas Uma Viktor
    Wei Yuki Abigail Benjamin Charlotte Dylan Eleanor Finn Gabriel Harriet Isaac Jasmine Kai
    Leila Miguel Natalie Owen Phoebe Robert Sarah Tobias Violet William Adele Boris Cecilia
    Derek Edith Fabian Gwen Harold Iris Jerome Katarina Lorenzo Mabel Niklas Ophelia Pablo Ruth
    Stefan Tamara Vincent Wanda Marcus Helen Arthur Lena Max Ben Lucy Tom Sam Eva Ali Mary John
    James Linda Susan Paul Mark Kate Jane
""")

LAST_NAMES = _words("""
    Smith Jones Brown Taylor Wilson Davies Evans Walker White Roberts Green Hall Wood Harris
    Martin Jackson Clarke Turner Hill Cooper Ward Morris Moore King Baker Young Allen Scott
    Adams Nelson Carter Mitchell Perez Phillips Campbell Parker Edwards Collins Stewart Sanchez
    Rogers Reed Cook Morgan Bell Murphy Bailey Rivera Cox Howard Kim Lee Tanaka Novak Rossi
    Silva Weber Fischer Larsen Garcia Lopez
""")

CITIES = _words("""
    Lisbon Paris London Berlin Madrid Rome Vienna Prague Oslo Dublin Athens Warsaw Budapest
    Helsinki Stockholm Copenhagen Brussels Amsterdam Zurich Geneva Munich Hamburg Milan Venice
    Naples Turin Porto Seville Barcelona Valencia Lyon Nice Marseille Bordeaux Krakow Riga
    Tallinn Vilnius Sofia Bucharest Belgrade Zagreb Ljubljana Bratislava Kyiv Moscow Istanbul
    Ankara Cairo Tunis Algiers Casablanca Nairobi Lagos Accra Dakar Johannesburg Durban Tokyo
    Osaka Kyoto Seoul Busan Beijing Shanghai Hanoi Bangkok Singapore Jakarta Manila Delhi Mumbai
    Chennai Karachi Lahore Tehran Baghdad Dubai Doha Riyadh Amman Beirut Sydney Melbourne Perth
    Brisbane Auckland Wellington Toronto Montreal Vancouver Ottawa Calgary Boston Chicago
    Seattle Denver Austin Dallas Houston Miami Atlanta Detroit Portland Phoenix Havana Lima
    Bogota Quito Santiago Montevideo Caracas Brasilia Reykjavik Edinburgh Glasgow Cardiff
    Belfast Bristol Leeds Oxford
""")

# Country to capital.
CAPITALS = dict(pair.split(":") for pair in _words("""
    France:Paris Germany:Berlin Italy:Rome Spain:Madrid Portugal:Lisbon Austria:Vienna
    Poland:Warsaw Hungary:Budapest Finland:Helsinki Sweden:Stockholm Norway:Oslo
    Denmark:Copenhagen Belgium:Brussels Ireland:Dublin Greece:Athens Russia:Moscow Turkey:Ankara
    Egypt:Cairo Tunisia:Tunis Algeria:Algiers Kenya:Nairobi Ghana:Accra Senegal:Dakar
    Japan:Tokyo China:Beijing Vietnam:Hanoi Thailand:Bangkok Indonesia:Jakarta India:Delhi
    Iran:Tehran Iraq:Baghdad Qatar:Doha Jordan:Amman Lebanon:Beirut Australia:Canberra
    Canada:Ottawa Cuba:Havana Peru:Lima Colombia:Bogota Ecuador:Quito Chile:Santiago
    Venezuela:Caracas Brazil:Brasilia Iceland:Reykjavik Scotland:Edinburgh Wales:Cardiff
    England:London Latvia:Riga Estonia:Tallinn Lithuania:Vilnius Bulgaria:Sofia
    Romania:Bucharest Serbia:Belgrade Croatia:Zagreb Slovenia:Ljubljana Slovakia:Bratislava
    Ukraine:Kyiv
"""))
COUNTRIES = tuple(CAPITALS)

ANIMALS = _words("""
    cat dog horse rabbit parrot turtle hamster goldfish fox wolf bear lion tiger elephant
    giraffe zebra monkey panda koala kangaroo otter beaver badger hedgehog squirrel mouse owl
    eagle falcon raven swan duck goose penguin seal dolphin whale shark octopus crab lobster
    snail frog lizard snake crocodile camel donkey goat sheep cow pig hen rooster turkey peacock
    deer moose bison llama
""")

COLOURS = _words("""
    red blue green yellow orange purple pink brown black white grey teal cyan magenta crimson
    scarlet amber gold silver bronze ivory beige navy indigo violet lavender turquoise olive
    maroon coral lime mint peach
""")

FOODS = _words("""
    pizza pasta sushi curry soup salad bread cheese rice noodles pancakes waffles chocolate
    lasagna risotto paella tacos burritos dumplings ramen falafel hummus goulash ratatouille
    apples bananas cherries grapes mangoes oranges peaches pears plums strawberries blueberries
    walnuts peanuts almonds shrimp mushrooms potatoes carrots tomatoes spinach broccoli beans
    lentils honey
""")

DRINKS = _words("""
    tea coffee water milk lemonade cocoa cider juice wine beer
""")

JOBS = _words("""
    baker teacher nurse doctor lawyer farmer pilot sailor carpenter plumber electrician gardener
    librarian journalist painter musician dancer actor chef waiter engineer programmer scientist
    chemist biologist geologist astronomer architect accountant banker butcher tailor mechanic
    driver firefighter detective judge soldier translator photographer designer dentist
    pharmacist
""")

INSTRUMENTS = _words("""
    piano violin guitar cello flute clarinet trumpet drums harp saxophone oboe banjo accordion
    trombone ukulele
""")

HOBBIES = _words("""
    hiking chess painting swimming cycling running knitting fishing reading dancing gardening
    photography cooking sailing climbing skiing pottery archery astronomy juggling
""")

SPORTS = _words("""
    tennis football basketball hockey golf rugby cricket volleyball badminton baseball boxing
    rowing
""")

SUBJECTS = _words("""
    history physics chemistry biology geography mathematics music art literature economics
    philosophy
""")

OBJECTS = _words("""
    lamp chair table book phone clock bottle basket hammer ladder mirror candle blanket pillow
    bucket wallet umbrella camera guitar pencil notebook backpack kettle teapot spoon fork knife
    plate bowl cup key coin stamp ring watch hat coat scarf glove boot rope anchor lantern
    compass map telescope flag bell drum mask kite wheel brush ribbon carpet vase statue
""")

PLACES = _words("""
    garden kitchen library attic cellar harbour forest castle tower museum station market school
    hospital bakery garage barn lighthouse bridge temple park island valley mountain desert
    village
""")

ADJECTIVES = _words("""
    small big old young happy sad brave clever quiet loud fast slow kind gentle proud shy lazy
    busy curious friendly golden silver dark bright cold warm strange famous hidden ancient
    broken secret little lucky sleepy hungry honest silly wild calm
""")

LANGUAGES = _words("""
    French German Spanish Italian Portuguese Dutch Polish Russian Greek Turkish Arabic Japanese
    Korean Chinese Hindi Swedish Finnish Latin
""")

CARS = _words("""
    Toyota Honda Ford Volvo Fiat Renault Peugeot Mazda Nissan Subaru Skoda Seat Opel Audi Tesla
    Kia
""")

MONTHS = _words("""
    January February March April May June July August September October November December
""")

DAYS = _words("""
    Monday Tuesday Wednesday Thursday Friday Saturday Sunday
""")

# NUMBER_WORDS[n] spells n.
NUMBER_WORDS = _words("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen twenty
""")

# ORDINALS[i] names the item at index i.
ORDINALS = _words("""
    first second third fourth fifth sixth seventh eighth ninth tenth
""")

# What a hidden fact can be about: "The <relation> of <entity> is <value>."
RELATIONS = (
    "secret code", "access code", "secret number", "magic number", "special magic number",
    "password", "passphrase", "launch code", "room number", "ticket number", "serial number",
    "pin", "phone number", "locker number", "vault code", "favourite number", "key", "token",
    "code name", "lucky number", "order number", "badge number", "gate code", "secret word",
    "code word", "door code", "account number", "reference number", "invoice number",
    "flight number", "license number", "postal code",
)
# Dictionary words a test model should never be asked to define, spell or repeat.
BLOCKED = frozenset(_words("""
    sex negro rape kill murder suicide nazi whore slave damn hell breast naked nude drug cocaine
    heroin sexual penis vagina fuck shit bitch bastard ass porn gay lesbian jew jewish muslim
    islam slut
"""))
