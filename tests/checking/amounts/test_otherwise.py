"""What translators write otherwise is the same amount: halves, ends of ranges, conversions, and what is left unsaid."""

from __future__ import annotations

import pytest

from dragoman.checking.amounts import compare_amounts, read_amounts

HALVES = [
    ("Un millón y medio", "es", "1.5 million"),
    ("Dos horas y media", "es", "150 minutes"),
    ("Trois heures et demie", "fr", "Half past three"),
    ("Два года с половиной", "ru", "Two and a half years"),
    ("Medio millón de euros", "es", "Half a million euros"),
    ("Tardó un año y medio.", "es", "It took one and a half years."),
    ("Cela a duré un an et demi.", "fr", "It lasted one and a half years."),
    ("Una hora y media", "es", "One and a half hours"),
    ("Un kilómetro y medio", "es", "One and a half kilometres"),
    ("De un an et demi à deux ans", "fr", "One-and-a-half to two years"),
    ("Un'ora e mezza", "it", "One and a half hours"),
    ("Um ano e meio", "pt", "One and a half years"),
    ("Anderthalb Jahre später", "de", "One and a half years later"),
    ("Полтора года спустя", "ru", "One and a half years later"),
    ("Полтора часа", "ru", "90 minutes"),
    ("Dos años y medio", "es", "Two and a half years"),
    ("Trois heures et demie", "fr", "Three and a half hours"),
    ("Un año y medio después", "es", "1.5 years later"),
]
HUNDREDTHS = [
    ("Le billet coûte 7 euros 40 centimes.", "fr", "The ticket costs €7.40."),
    ("El billete vale 7 euros con 40 céntimos.", "es", "The ticket costs €7.40."),
    ("O bilhete custa 7 euros e 40 cêntimos.", "pt", "The ticket costs €7.40."),
    ("Il biglietto costa 7 euro e 40 centesimi.", "it", "The ticket costs €7.40."),
    ("Билет стоит 7 рублей 40 копеек.", "ru", "The ticket costs 7.40 roubles."),
    ("Сдача 40 копеек", "ru", "Change of 40 kopecks"),
]
RANGES = [
    ("от 5 до 6 тыс. человек", "ru", "5,000 to 6,000 people"),
    ("между 5 и 6 тысячами", "ru", "between 5,000 and 6,000"),
    ("Από 5 έως 6 χιλιάδες", "el", "From 5,000 to 6,000"),
    ("5 ถึง 6 พันคน", "th", "5,000 to 6,000 people"),
    ("五到六万人", "zh", "50,000 to 60,000 people"),
    ("10 से 20 लाख", "hi", "1 to 2 million"),
    ("5 oder 6 Tausend", "de", "5,000 or 6,000"),
    ("5-6 тысяч человек", "ru", "5,000 to 6,000 people"),
    ("5 bis 6 Tsd. Euro", "de", "5,000 to 6,000 euros"),
    ("De cinq à six mille", "fr", "5,000 to 6,000"),
    ("Entre cinq et six mille", "fr", "Between 5,000 and 6,000"),
    ("5～6千人", "ja", "5,000 to 6,000 people"),
    ("بين 5 و6 آلاف", "ar", "Between 5,000 and 6,000"),
    ("Entre 50 et 100 mille euros, de 5 à 15 mille", "fr", "Between 50,000 and 100,000 euros, 5,000-15,000"),
    ("Zwischen 5 und 6 Millionen", "de", "Between 5 million and 6 million"),
    ("genau 1,000 kg", "de", "exactly 1 kg"),
]
COUNTS = [
    ("Nur 1 Tag später heirateten die beiden.", "de", "Just one day later the two got married."),
    ("Оба погибли 1 мая.", "ru", "The two died on the first of May."),
    ("両チームは1点差だ。", "ja", "The two teams are one point apart."),
    ("Die beiden sind an COVID-19 erkrankt.", "de", "The two fell ill with the coronavirus."),
    ("Die beiden sprachen nicht mit Dritten.", "de", "The two did not speak to others."),
    ("Ludwig XIV. empfing die beiden.", "de", "The Sun King received the two."),
    ("十一月一号开始两国的合作。", "zh", "On November 1 both countries began to cooperate."),
    ("十九大报告学习辅导百问", "zh", "100 Q&A about the 19th Congress report"),
    ("１年で新型コロナが広がった。", "ja", "Within one year COVID-19 spread."),
]
CONVERTED = [
    ("Zuerst 10 km und dann 20 Meilen", "de", "First 6.2 miles and then 32 km"),
    ("Nach 16 km (10 Meilen)", "de", "After 9.9 miles (16 km)"),
    ("40 Meilen (64 km)", "de", "40 miles (65 km)"),
    ("300 Fuß (91 m)", "de", "300-foot (90 m)"),
    ("Estaba a 15 millas, luego a 40 km.", "es", "It was 24 km away, then 25 miles."),
    ("24 heures ou 2 jours", "fr", "one day or 48 hours"),
]
OTHERS = [
    ("В 10 ночи", "ru", "At 10 p.m."),
    ("A las 2 de la noche", "es", "At 2 a.m."),
    ("À 9 heures du soir", "fr", "At 9 p.m."),
    ("晚上8点", "zh", "8 p.m."),
    ("A las 8 de la mañana", "es", "At 8 a.m."),
    ("Um 10:30 Uhr abends", "de", "At 10:30 p.m."),
    ("Los trenes van a 402 km/h.", "es", "The trains go at 250 mph."),
    ("402 Kilometer pro Stunde", "de", "250 miles an hour"),
    ("402 kilomètres à l'heure", "fr", "250 mph"),
    ("402 км в час", "ru", "250 mph"),
    ("50ドル44セント", "ja", "$50.44"),
    ("Zwei Euro und 50 Cent", "de", "€2.50"),
    ("市民の参加が増えた。", "ja", "More citizens take part."),
    ("Es stand in einer Sonntagszeitung.", "de", "It was in a Sunday newspaper."),
    ("Sie mögen die Montagsdemos nicht.", "de", "They dislike the demonstrations."),
    ("Le SARS-CoV-2 peut muter.", "fr", "The SARS-CoV-2 may mutate."),
    ("時速約55キロ", "ja", "At 55 km/h"),
    ("时速402公里", "zh", "250 miles an hour"),
]
DIFFERENT = [
    ("40 копеек", "ru", "40 cents"),
    ("40 centimes", "fr", "50 cents"),
    ("Iba a 80 km.", "es", "It went at 50 mph."),
    ("Um 10:30 Uhr morgens", "de", "At 10:30 p.m."),
    ("Um 8 Uhr morgens", "de", "At 8 p.m."),
    ("A las 8 de la mañana", "es", "At 8 p.m."),
    ("À 8 heures du matin", "fr", "At 8 p.m."),
    ("В 8 утра", "ru", "At 8 p.m."),
    ("上午8点", "zh", "At 8 p.m."),
    ("Un año y medio", "es", "Two and a half years"),
    ("5-6 тысяч", "ru", "5,000 to 7,000"),
    ("5-6 тысяч", "ru", "4,000 to 6,000"),
    ("De 5 à 6 mille", "fr", "From 5,000 to 6 million"),
    ("Nach 16 km (10 Meilen)", "de", "After 8 miles (16 km)"),
    ("Cuesta 8.000 euros.", "es", "It costs 8 euros."),
    ("50ドル44セント", "ja", "$50.45"),
    ("Es stand in einer Sonntagszeitung.", "de", "It was in a Monday newspaper."),
    ("El 1 de mayo cerró el 2.", "es", "On 2 May it closed on the 2nd."),
]


@pytest.mark.parametrize(("text", "language", "english"), [*HALVES, *HUNDREDTHS, *RANGES, *COUNTS, *CONVERTED, *OTHERS])
def test_the_same_said_otherwise_is_no_mismatch(text: str, language: str, english: str) -> None:
    assert compare_amounts(text, language, english, "en") == []
    assert compare_amounts(english, "en", text, language) == []


@pytest.mark.parametrize(("text", "language", "english"), DIFFERENT)
def test_what_is_not_the_same_is_still_seen(text: str, language: str, english: str) -> None:
    assert compare_amounts(text, language, english, "en")
    assert compare_amounts(english, "en", text, language)


def test_a_time_before_an_hour_is_read() -> None:
    assert [amount.text for amount in read_amounts("From 14h30 to 16 h", "en")] == ["14h30", "16 h"]
