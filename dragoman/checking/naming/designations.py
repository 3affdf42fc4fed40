"""Words with a capital that are no names: they are translated, and one of two languages leaves the capital out."""

from __future__ import annotations

from functools import lru_cache

import regex

from dragoman.checking.naming.folding import fold_name

__all__ = ["has_office", "is_designation"]

_OFFICES = {
    "minister": ("minist", "premier", "kanzler", "премьер", "υπουργ"), "premier": ("minist", "premier", "премьер"),
    "president": ("prasident", "presiden", "президент", "προεδρ"), "chancellor": ("kanzler", "chancelier", "canciller"),
    "secretary": ("minister", "ministr", "sekretar", "secretar", "секретар", "министр", "υπουργ", "γραμματε"),
    "general": ("general", "генерал", "γενικ"), "governor": ("gouverneur", "gobernador", "губернатор", "κυβερνητ"),
    "mayor": ("burgermeister", "maire", "alcalde", "мэр", "δημαρχ"), "senator": ("senat", "сенатор", "γερουσιαστ"),
    "king": ("konig", "roi", "rey", "корол", "βασιλ"), "queen": ("konigin", "reine", "reina", "королев", "βασιλισσ"),
    "judge": ("richter", "juge", "juez", "судь", "δικαστ"), "justice": ("richter", "juge", "juez", "судь", "δικαστ"),
}  # fmt: skip
"""English offices, and words for each in other languages: *Prime Minister* is *Premier*."""

_ENGLISH = frozenset(
    """
    academy act administration affairs agency agreement airlines airport alliance ambassador appeals archbishop army
    assembly association attorney authority award awards bank basin battle bay bible bill bishop board book bridge
    building bureau cabinet capitol captain castle cathedral catholic catholics cave center central centre century
    ceo chair chairman championship championships chancellor channel charter chief christian christianity christians
    christmas church city club coast college colonel commander commerce commission commissioner committee commons
    communist community company confederation conference congress conservative conservatives constitution convention
    corporation council councillor counsel count county court crime crisis crown cup declaration defence defense
    definition democrat democratic democrats department deputy development director district division doctor duke
    earl earth east eastern economic edict education elector embassy emergency emperor empire energy environment
    epidemic european exchange executive falls far fathers federal federation festival figures finance first
    football force forces foreign forest forum foundation free front fund gallery game games garden gate general god
    government governor great greater group gulf hall harbor harbour health high highway hill hills history holy
    home hospital hotel house human id immigration independence independent industry information institute
    institution interior international internet investigation island islands jewish jews journal judge judgement
    judgment justice king kingdom labor labour lake land last law league left legislature liberal liberals library
    lieutenant life line lord lords machine magazine main major manager market mass mayor measures media medical
    medicine member memorial middle midwest military minister ministry mission mountain mountains movement mp mps
    museum music muslim muslims national nationals nations navy near new news newspaper next nobel north northeast
    northeastern northern northwest northwestern observatory ocean office officer officials old olympic olympics
    open operation operations opposition orchestra order organisation organization orthodox pacific palace panel
    park parliament part party patriarch peace peninsula people peoples plan planet police pope port power
    prefecture premier president presidential press prevention prime prince princess prior prison prize professor
    program programme project protestant protestantism protestants province psalms public punishment queen radio
    railway region regional report representative representatives republic republican republicans research reserve
    resolution revolution right river road roman royal saint savings school science sciences sea secretary section
    security senate senator senior service services shadow socialist society song south southeast southeastern
    southern southwest southwestern special spokesman sports square stadium staff standard star state states station
    stock street summer summit sun supreme survey system team technology telephone television temple theater theatre
    times title tour tourism tournament tower town trade traffic transport treasury treaty tribunal trust tunnel tv
    types union united university uprising valley vice victims village virus volume war water web welfare west
    western white wildlife winter work workers works world youth zone
    """.split()  # noqa: SIM905
)
_OTHER_LANGUAGES = frozenset(
    """
    academie administration agence alliance ambassade archeveque armee assemblee association assurance autorite avocat
    banque bourse bureau cabinet cathedrale chambre chancelier chateau chef code college comite commissaire commission
    communaute compagnie confederation conference congres conseil constitution convention cour coupe defense departement
    depute direction directeur directive eglise empereur empire environnement etat etats faculte federation fondation
    forum front gouvernement gouverneur groupe guerre institut interieur introduction journal justice loi lycee maire
    marche ministere ministre monde mouvement musee nation nations occident office ordre organisation palais parlement
    parti politique premier president prix procureur professeur region republique revolution roi saint secretaire senat
    senateur service societe sommet sud nord est ouest syndicat tour traite tribunal union universite ville
    academia administracion agencia alianza ayuntamiento asamblea asociacion autoridad banco bolsa camara canciller
    centro ciudad comision comite comunidad compania confederacion conferencia congreso consejo constitucion copa corte
    cortes defensa delegacion departamento diputado direccion director ejercito emperador empresa escuela estado
    estados federacion fiscal fiscalia fundacion foro frente general gobierno gobernador grupo guerra hacienda hospital
    iglesia imperio instituto interior juzgado ley liga ministerio ministro movimiento mundial mundo museo nacion
    nacional naciones norte occidente oeste organizacion oriente palacio papa parlamento partido policia presidente
    premio primer primera procurador programa provincia region reino republica rey secretaria secretario senado senador
    servicio sociedad sur tribunal tratado union universidad valle
    академия большои великии верховныи вице военныи восток высшии генеральныи город государственныи дума запад закон
    запись институт комитет конституция министерство минобороны народ национальныи парламент партия поселение премьер
    президент республика совет союз суд университет управление федерации федерация центральныи церковь библия
    διασκεψη πανεπιστημιο βουλη βασιλειο δικαστηριο υπουργειο υπουργος χρηματιστηριο εξεγερση παρκο κομη δυση βορεια
    νοτια κοινοβουλιο εκκλησια συνταγμα κυβερνηση κομμα επιτροπη ενωση οργανισμος δημοκρατια προεδρος πρωθυπουργος
    αντιπροεδρος ανωτατο ανατολικος βιβλος βασιλικος γενικος γερουσια διαταγμα διευθυντης διεθνης δυτικος εθνικος
    εκτελεστικος ινστιτουτο κεντρο κρατος λαικος μεγαλος μουσειο νησια νοτιος οικογενεια ομοσπονδιακος παγκοσμιος
    πολεμος πρωτοδικειο συμβουλιο συμφωνια υπηρεσια υπουργειο χριστιανικος
    akademie allgemeine amt armee autonome behorde bischof botschafter bundesgericht bundesprasident erzbischof
    europaische foderation furst gemeinschaft generalsekretar gericht gerichtshof graf herzog hochschule hof institut
    internationale kaiser kaiserin kammer kammergericht katholische kirche kommissar kommission konferenz kongress
    konig konigin konigliche krieg landgericht minister ministerin ministerium museum nationale oberste oberster
    parlament partei papst polizei prasident prinz prinzessin rat senat senator sprecher sprecherin tribunal
    universitat verband verein verfassungsgericht vertrag weltkrieg zentralbank
    allgemeiner aussenminister aussenministerium bundeskanzler bundeskanzlerin bundesregierung bundesrat
    bundestag burgermeister finanzminister finanzministerium generaldirektor generalstaatsanwalt
    generalversammlung grosse haus innenminister justizminister landesregierung ministerprasident nationalversammlung
    nobelpreis oberburgermeister premier premierminister regierung republik sicherheitsrat staatsanwaltschaft
    staatsprasident staatssekretar verteidigungsminister vizeprasident weisse weissen weisses
    """.split()  # noqa: SIM905
)

_INFLECTED = frozenset({"ru", "uk", "be", "bg", "el", "de"})
"""Languages of which the words are listed in one form."""
_ABSTRACT = ("tion", "sion", "ment", "ness", "ship", "hood")
"""Endings of English words that are no names, as in titles: *The Reformation*, *On Confession*."""
_LEAST_ABSTRACT = 8
"""Letters of them."""
_STEM, _ENDING = 5, 2
"""Letters at least of a stem, and at most of an ending."""


def is_designation(written: str, language: str) -> bool:
    """Whether a word is the name of an office, an institution, a direction and the like."""
    folded = fold_name(written).removesuffix("'s").removesuffix("'")
    if language == "en":
        abstract = len(folded) >= _LEAST_ABSTRACT and folded.endswith(_ABSTRACT)
        return abstract or folded in _ENGLISH or folded.removesuffix("s") in _ENGLISH
    return folded in _OTHER_LANGUAGES or (language in _INFLECTED and _stem(folded) in _stems())


def has_office(written: str, language: str, text: str) -> bool:
    """Whether an English word is the name of an office that the other text has."""
    folded = fold_name(written).removesuffix("'s").removesuffix("'")
    words = _OFFICES.get(folded, _OFFICES.get(folded.removesuffix("s"), ())) if language == "en" else ()
    other = fold_name(text) if words else ""
    return any(regex.search(rf"(?<!\p{{L}})(?:\p{{L}}{{4,}})?{word}", other) for word in words)


def _stem(folded: str) -> str:
    """A word without the ending of its case, at most two letters; nothing of a short one."""
    return folded[: max(_STEM, len(folded) - _ENDING)] if len(folded) >= _STEM else ""


@lru_cache(maxsize=1)
def _stems() -> frozenset[str]:
    """The beginnings that forms of the words have, whatever their endings."""
    stems = {word[:end] for word in _OTHER_LANGUAGES for end in range(max(_STEM, len(word) - _ENDING), len(word) + 1)}
    return frozenset(stems)
