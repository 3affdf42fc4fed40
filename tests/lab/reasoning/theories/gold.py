"""Sentences that were proofread, in every language: what each of the parts is, in the order of their list."""

from __future__ import annotations

from dragoman_lab.reasoning.theories.logic import Fact, Rule, Statement


def so(*words: str) -> Statement:
    return Statement(Fact(*words))


def not_so(*words: str) -> Statement:
    return Statement(Fact(*words), False)


PARTS: list[Statement | Rule] = [
    not_so("Anna", "big"),
    not_so("David", "hungry"),
    so("dog", "chase", "mouse"),
    not_so("cow", "help", "dog"),
    so("horse", "visit", "squirrel"),
    so("Anna", "trust", "David"),
    not_so("Sophia", "fear", "Maria"),
    not_so("bear", "feed", "lion"),
    so("duck", "like", "bear"),
    so("fox", "trust", "mouse"),
    not_so("Maria", "green"),
    so("Elena", "tired"),
    Rule((so("someone", "big"), not_so("someone", "green")), so("someone", "quiet").fact),
    Rule((so("someone", "big"), so("someone", "strong"), so("someone", "tired")), so("someone", "like", "Anna").fact),
    Rule((so("something", "chase", "cat"), so("cat", "kind")), so("something", "like", "dog").fact),
    Rule((not_so("someone", "help", "Elena"), not_so("Elena", "sad")), so("someone", "careful").fact),
    Rule((not_so("something", "lazy"), so("something", "hungry")), so("something", "fast").fact),
    Rule((so("something", "trust", "horse"), so("something", "brave")), so("cow", "happy").fact),
    Rule((so("dog", "big"), not_so("dog", "weak"), so("cow", "chase", "dog")), so("dog", "clean").fact),
    Rule((so("someone", "smart"),), so("someone", "brave").fact, generic=True),
    Rule((so("something", "lazy"), so("something", "tired")), so("something", "sad").fact, generic=True),
    Rule((so("someone", "hungry"), so("someone", "red")), so("someone", "white").fact, generic=True),
    Rule((so("someone", "small"), so("Anna", "kind"), so("someone", "like", "David")), so("someone", "clean").fact),
    Rule((not_so("Maria", "happy"), so("Maria", "red")), so("Maria", "protect", "Martin").fact),
    Rule(
        (so("something", "visit", "goat"), not_so("something", "white"), so("duck", "lazy")),
        so("something", "feed", "cat").fact,
    ),
]

SENTENCES = {
    "en": """
Anna is not big.
David is not hungry.
The dog chases the mouse.
The cow does not help the dog.
The horse visits the squirrel.
Anna trusts David.
Sophia does not fear Maria.
The bear does not feed the lion.
The duck likes the bear.
The fox trusts the mouse.
Maria is not green.
Elena is tired.
If someone is big and not green then they are quiet.
If someone is big and strong and tired then they like Anna.
If something chases the cat and the cat is kind then it likes the dog.
If someone does not help Elena and Elena is not sad then they are careful.
If something is not lazy and is hungry then it is fast.
If something trusts the horse and is brave then the cow is happy.
If the dog is big and not weak and the cow chases the dog then the dog is clean.
All smart people are brave.
All lazy and tired animals are sad.
All hungry and red people are white.
If someone is small and Anna is kind and they like David then they are clean.
If Maria is not happy and is red then Maria protects Martin.
If something visits the goat and is not white and the duck is lazy then it feeds the cat.
""",
    "de": """
Anna ist nicht groß.
David ist nicht hungrig.
Der Hund jagt die Maus.
Die Kuh hilft dem Hund nicht.
Das Pferd besucht das Eichhörnchen.
Anna vertraut David.
Sophia fürchtet Maria nicht.
Der Bär füttert den Löwen nicht.
Die Ente mag den Bären.
Der Fuchs vertraut der Maus.
Maria ist nicht grün.
Elena ist müde.
Wenn jemand groß und nicht grün ist, dann ist er ruhig.
Wenn jemand groß und stark und müde ist, dann mag er Anna.
Wenn ein Tier die Katze jagt und die Katze freundlich ist, dann mag dieses Tier den Hund.
Wenn jemand Elena nicht hilft und Elena nicht traurig ist, dann ist diese Person vorsichtig.
Wenn ein Tier nicht faul ist und hungrig ist, dann ist es schnell.
Wenn ein Tier dem Pferd vertraut und mutig ist, dann ist die Kuh glücklich.
Wenn der Hund groß und nicht schwach ist und die Kuh den Hund jagt, dann ist der Hund sauber.
Alle klugen Menschen sind mutig.
Alle faulen und müden Tiere sind traurig.
Alle hungrigen und roten Menschen sind weiß.
Wenn jemand klein ist und Anna freundlich ist und diese Person David mag, dann ist diese Person sauber.
Wenn Maria nicht glücklich ist und rot ist, dann beschützt Maria Martin.
Wenn ein Tier die Ziege besucht und nicht weiß ist und die Ente faul ist, dann füttert dieses Tier die Katze.
""",
    "fr": """
Anna n'est pas grande.
David n'est pas affamé.
Le chien poursuit la souris.
La vache n'aide pas le chien.
Le cheval rend visite à l'écureuil.
Anna fait confiance à David.
Sophia ne craint pas Maria.
L'ours ne nourrit pas le lion.
Le canard aime l'ours.
Le renard fait confiance à la souris.
Maria n'est pas verte.
Elena est fatiguée.
Si quelqu'un est grand et n'est pas vert, alors il est calme.
Si quelqu'un est grand et fort et fatigué, alors il aime Anna.
Si un animal poursuit le chat et si le chat est gentil, alors cet animal aime le chien.
Si quelqu'un n'aide pas Elena et si Elena n'est pas triste, alors cette personne est prudente.
Si un animal n'est pas paresseux et est affamé, alors il est rapide.
Si un animal fait confiance au cheval et est courageux, alors la vache est heureuse.
Si le chien est grand et n'est pas faible et si la vache poursuit le chien, alors le chien est propre.
Toutes les personnes qui sont intelligentes sont courageuses.
Tous les animaux qui sont paresseux et fatigués sont tristes.
Toutes les personnes qui sont affamées et rouges sont blanches.
Si quelqu'un est petit et si Anna est gentille et si cette personne aime David, alors cette personne est propre.
Si Maria n'est pas heureuse et est rouge, alors Maria protège Martin.
Si un animal rend visite à la chèvre et n'est pas blanc et si le canard est paresseux, alors cet animal nourrit le chat.
""",
    "es": """
Anna no es grande.
David no está hambriento.
El perro persigue al ratón.
La vaca no ayuda al perro.
El caballo visita a la ardilla.
Anna confía en David.
Sophia no teme a Maria.
El oso no alimenta al león.
El pato quiere al oso.
El zorro confía en el ratón.
Maria no es verde.
Elena está cansada.
Si alguien es grande y no es verde, entonces es tranquilo.
Si alguien es grande y es fuerte y está cansado, entonces quiere a Anna.
Si un animal persigue al gato y el gato es amable, entonces ese animal quiere al perro.
Si alguien no ayuda a Elena y Elena no está triste, entonces esa persona es prudente.
Si un animal no es perezoso y está hambriento, entonces es rápido.
Si un animal confía en el caballo y es valiente, entonces la vaca está contenta.
Si el perro es grande y no es débil y la vaca persigue al perro, entonces el perro está limpio.
Todas las personas que son listas son valientes.
Todos los animales que son perezosos y están cansados están tristes.
Todas las personas que están hambrientas y son rojas son blancas.
Si alguien es pequeño y Anna es amable y esa persona quiere a David, entonces esa persona está limpia.
Si Maria no está contenta y es roja, entonces Maria protege a Martin.
Si un animal visita a la cabra y no es blanco y el pato es perezoso, entonces ese animal alimenta al gato.
""",
    "ru": """
Анна не большая.
Давид не голодный.
Собака преследует мышь.
Корова не помогает собаке.
Лошадь навещает белку.
Анна доверяет Давиду.
София не боится Марии.
Медведь не кормит льва.
Утка любит медведя.
Лиса доверяет мыши.
Мария не зелёная.
Елена усталая.
Если человек большой и не зелёный, то он тихий.
Если человек большой и сильный и усталый, то он любит Анну.
Если животное преследует кошку и кошка добрая, то это животное любит собаку.
Если человек не помогает Елене и Елена не грустная, то этот человек осторожный.
Если животное не ленивое и оно голодное, то оно быстрое.
Если животное доверяет лошади и оно смелое, то корова весёлая.
Если собака большая и не слабая и корова преследует собаку, то собака чистая.
Все умные люди смелые.
Все ленивые и усталые животные грустные.
Все голодные и красные люди белые.
Если человек маленький и Анна добрая и этот человек любит Давида, то этот человек чистый.
Если Мария не весёлая и она красная, то Мария защищает Мартина.
Если животное навещает козу и оно не белое и утка ленивая, то это животное кормит кошку.
""",
    "el": """
Η Άννα δεν είναι μεγάλη.
Ο Δαβίδ δεν είναι πεινασμένος.
Ο σκύλος κυνηγάει το ποντίκι.
Η αγελάδα δεν βοηθάει τον σκύλο.
Το άλογο επισκέπτεται τον σκίουρο.
Η Άννα εμπιστεύεται τον Δαβίδ.
Η Σοφία δεν φοβάται τη Μαρία.
Η αρκούδα δεν ταΐζει το λιοντάρι.
Η πάπια συμπαθεί την αρκούδα.
Η αλεπού εμπιστεύεται το ποντίκι.
Η Μαρία δεν είναι πράσινη.
Η Έλενα είναι κουρασμένη.
Αν κάποιος είναι μεγάλος και δεν είναι πράσινος, τότε είναι ήσυχος.
Αν κάποιος είναι μεγάλος και δυνατός και κουρασμένος, τότε συμπαθεί την Άννα.
Αν ένα ζώο κυνηγάει τη γάτα και η γάτα είναι ευγενική, τότε αυτό το ζώο συμπαθεί τον σκύλο.
Αν κάποιος δεν βοηθάει την Έλενα και η Έλενα δεν είναι λυπημένη, τότε αυτό το άτομο είναι προσεκτικό.
Αν ένα ζώο δεν είναι τεμπέλικο και είναι πεινασμένο, τότε είναι γρήγορο.
Αν ένα ζώο εμπιστεύεται το άλογο και είναι γενναίο, τότε η αγελάδα είναι χαρούμενη.
Αν ο σκύλος είναι μεγάλος και δεν είναι αδύναμος και η αγελάδα κυνηγάει τον σκύλο, τότε ο σκύλος είναι καθαρός.
Όλοι οι έξυπνοι άνθρωποι είναι γενναίοι.
Όλα τα τεμπέλικα και κουρασμένα ζώα είναι λυπημένα.
Όλοι οι πεινασμένοι και κόκκινοι άνθρωποι είναι λευκοί.
Αν κάποιος είναι μικρός και η Άννα είναι ευγενική και αυτό το άτομο συμπαθεί τον Δαβίδ, τότε αυτό το άτομο είναι καθαρό.
Αν η Μαρία δεν είναι χαρούμενη και είναι κόκκινη, τότε η Μαρία προστατεύει τον Μαρτίνο.
Αν ένα ζώο επισκέπτεται την κατσίκα και δεν είναι λευκό και η πάπια είναι τεμπέλα, τότε αυτό το ζώο ταΐζει τη γάτα.
""",
    "ar": """
آنا ليست كبيرة.
ديفيد ليس جائعًا.
الكلب يطارد الفأر.
البقرة لا تساعد الكلب.
الحصان يزور السنجاب.
آنا تثق بديفيد.
صوفيا لا تخاف من ماريا.
الدب لا يطعم الأسد.
البطة تحب الدب.
الثعلب يثق بالفأر.
ماريا ليست خضراء.
إيلينا متعبة.
إذا كان شخص ما كبيرًا ولم يكن أخضر، فهو هادئ.
إذا كان شخص ما كبيرًا وقويًا ومتعبًا، فهو يحب آنا.
إذا كان حيوان ما يطارد القطة وكانت القطة لطيفة، فإن هذا الحيوان يحب الكلب.
إذا لم يكن شخص ما يساعد إيلينا ولم تكن إيلينا حزينة، فإن هذا الشخص حذر.
إذا لم يكن حيوان ما كسولًا وكان جائعًا، فهو سريع.
إذا كان حيوان ما يثق بالحصان وكان شجاعًا، فإن البقرة سعيدة.
إذا كان الكلب كبيرًا ولم يكن ضعيفًا وكانت البقرة تطارد الكلب، فإن الكلب نظيف.
كل شخص ذكي هو شخص شجاع.
كل حيوان كسول ومتعب هو حيوان حزين.
كل شخص جائع وأحمر هو شخص أبيض.
إذا كان شخص ما صغيرًا وكانت آنا لطيفة وكان هذا الشخص يحب ديفيد، فإن هذا الشخص نظيف.
إذا لم تكن ماريا سعيدة وكانت حمراء، فإن ماريا تحمي مارتن.
إذا كان حيوان ما يزور العنزة ولم يكن أبيض وكانت البطة كسولة، فإن هذا الحيوان يطعم القطة.
""",
    "zh": """
安娜不高大。
大卫不饥饿。
狗追赶老鼠。
奶牛不帮助狗。
马拜访松鼠。
安娜信任大卫。
索菲娅不害怕玛丽亚。
熊不喂养狮子。
鸭子喜欢熊。
狐狸信任老鼠。
玛丽亚不是绿色的。
埃琳娜很疲倦。
如果某个人很高大，而且不是绿色的，那么他很安静。
如果某个人很高大，而且很强壮，而且很疲倦，那么他喜欢安娜。
如果某个动物追赶猫，而且猫很善良，那么这个动物喜欢狗。
如果某个人不帮助埃琳娜，而且埃琳娜不悲伤，那么这个人很谨慎。
如果某个动物不懒惰，而且很饥饿，那么它很敏捷。
如果某个动物信任马，而且很勇敢，那么奶牛很快乐。
如果狗很高大，而且不虚弱，而且奶牛追赶狗，那么狗很干净。
所有聪明的人都很勇敢。
所有懒惰的、疲倦的动物都很悲伤。
所有饥饿的、红色的人都是白色的。
如果某个人很矮小，而且安娜很善良，而且这个人喜欢大卫，那么这个人很干净。
如果玛丽亚不快乐，而且是红色的，那么玛丽亚保护马丁。
如果某个动物拜访山羊，而且不是白色的，而且鸭子很懒惰，那么这个动物喂养猫。
""",
    "hi": """
अन्ना बड़ी नहीं है।
डेविड भूखा नहीं है।
कुत्ता चूहे का पीछा करता है।
गाय कुत्ते की मदद नहीं करती।
घोड़ा गिलहरी से मिलने जाता है।
अन्ना डेविड पर भरोसा करती है।
सोफ़िया मारिया से नहीं डरती।
भालू शेर को खाना नहीं खिलाता।
बत्तख़ भालू को पसंद करती है।
लोमड़ी चूहे पर भरोसा करती है।
मारिया हरी नहीं है।
एलेना थकी हुई है।
अगर कोई व्यक्ति बड़ा है और हरा नहीं है, तो वह शांत है।
अगर कोई व्यक्ति बड़ा है और ताक़तवर है और थका हुआ है, तो वह अन्ना को पसंद करता है।
अगर कोई जानवर बिल्ली का पीछा करता है और बिल्ली दयालु है, तो वह जानवर कुत्ते को पसंद करता है।
अगर कोई व्यक्ति एलेना की मदद नहीं करता और एलेना दुखी नहीं है, तो वह व्यक्ति सावधान है।
अगर कोई जानवर आलसी नहीं है और भूखा है, तो वह तेज़ है।
अगर कोई जानवर घोड़े पर भरोसा करता है और बहादुर है, तो गाय ख़ुश है।
अगर कुत्ता बड़ा है और कमज़ोर नहीं है और गाय कुत्ते का पीछा करती है, तो कुत्ता साफ़ है।
सभी होशियार लोग बहादुर हैं।
सभी आलसी और थके हुए जानवर दुखी हैं।
सभी भूखे और लाल लोग सफ़ेद हैं।
अगर कोई व्यक्ति छोटा है और अन्ना दयालु है और वह व्यक्ति डेविड को पसंद करता है, तो वह व्यक्ति साफ़ है।
अगर मारिया ख़ुश नहीं है और लाल है, तो मारिया मार्टिन की रक्षा करती है।
अगर कोई जानवर बकरी से मिलने जाता है और सफ़ेद नहीं है और बत्तख़ आलसी है, तो वह जानवर बिल्ली को खाना खिलाता है।
""",
    "tr": """
Anna büyük değildir.
David aç değildir.
Köpek fareyi kovalar.
İnek köpeğe yardım etmez.
At sincabı ziyaret eder.
Anna David'e güvenir.
Sophia Maria'dan korkmaz.
Ayı aslanı beslemez.
Ördek ayıyı sever.
Tilki fareye güvenir.
Maria yeşil değildir.
Elena yorgundur.
Eğer bir kişi büyükse ve yeşil değilse, o kişi sessizdir.
Eğer bir kişi büyükse ve güçlüyse ve yorgunsa, o kişi Anna'yı sever.
Eğer bir hayvan kediyi kovalarsa ve kedi nazikse, o hayvan köpeği sever.
Eğer bir kişi Elena'ya yardım etmezse ve Elena üzgün değilse, o kişi dikkatlidir.
Eğer bir hayvan tembel değilse ve açsa, o hayvan hızlıdır.
Eğer bir hayvan ata güvenirse ve cesursa, inek mutludur.
Eğer köpek büyükse ve güçsüz değilse ve inek köpeği kovalarsa, köpek temizdir.
Bütün akıllı insanlar cesurdur.
Bütün tembel ve yorgun hayvanlar üzgündür.
Bütün aç ve kırmızı insanlar beyazdır.
Eğer bir kişi küçükse ve Anna nazikse ve o kişi David'i severse, o kişi temizdir.
Eğer Maria mutlu değilse ve kırmızıysa, Maria Martin'i korur.
Eğer bir hayvan keçiyi ziyaret ederse ve beyaz değilse ve ördek tembelse, o hayvan kediyi besler.
""",
    "sw": """
Anna si mkubwa.
David si mwenye njaa.
Mbwa anamfukuza panya.
Ng'ombe hamsaidii mbwa.
Farasi anamtembelea kindi.
Anna anamwamini David.
Sophia hamwogopi Maria.
Dubu hamlishi simba.
Bata anampenda dubu.
Mbweha anamwamini panya.
Maria si wa kijani.
Elena ni mchovu.
Ikiwa mtu ni mkubwa na si wa kijani, basi mtu huyo ni mtulivu.
Ikiwa mtu ni mkubwa na mwenye nguvu na mchovu, basi mtu huyo anampenda Anna.
Ikiwa mnyama anamfukuza paka na paka ni mwema, basi mnyama huyo anampenda mbwa.
Ikiwa mtu hamsaidii Elena na Elena si mwenye huzuni, basi mtu huyo ni mwangalifu.
Ikiwa mnyama si mvivu na ni mwenye njaa, basi mnyama huyo ni mwepesi.
Ikiwa mnyama anamwamini farasi na ni jasiri, basi ng'ombe ni mwenye furaha.
Ikiwa mbwa ni mkubwa na si dhaifu na ng'ombe anamfukuza mbwa, basi mbwa ni safi.
Watu wote ambao ni werevu ni jasiri.
Wanyama wote ambao ni wavivu na wachovu ni wenye huzuni.
Watu wote ambao ni wenye njaa na wekundu ni weupe.
Ikiwa mtu ni mdogo na Anna ni mwema na mtu huyo anampenda David, basi mtu huyo ni safi.
Ikiwa Maria si mwenye furaha na ni mwekundu, basi Maria anamlinda Martin.
Ikiwa mnyama anamtembelea mbuzi na si mweupe na bata ni mvivu, basi mnyama huyo anamlisha paka.
""",
}
