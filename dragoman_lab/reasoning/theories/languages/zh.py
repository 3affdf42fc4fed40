"""Chinese, in simplified characters: "很" before what can be more or less so, "是 ... 的" around colours."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_lab.reasoning.theories.languages.grammar import Clause, Language, Mention, table
from dragoman_lab.reasoning.theories.vocabulary import SOMEONE, SOMETHING, VARIABLES

NOUNS = table("""
Anna: 安娜
Maria: 玛丽亚
Sophia: 索菲娅
Elena: 埃琳娜
David: 大卫
Martin: 马丁
Thomas: 托马斯
Daniel: 丹尼尔
dog: 狗
cat: 猫
mouse: 老鼠
bear: 熊
lion: 狮子
rabbit: 兔子
cow: 奶牛
horse: 马
fox: 狐狸
duck: 鸭子
goat: 山羊
squirrel: 松鼠
""")
MENTIONS = {
    SOMEONE: {Mention.NEW: "某个人", Mention.SAME: "他", Mention.AGAIN: "这个人"},
    SOMETHING: {Mention.NEW: "某个动物", Mention.SAME: "它", Mention.AGAIN: "这个动物"},
}
CROWDS = {SOMEONE: "人", SOMETHING: "动物"}

ATTRIBUTES = table("""
big: 高大
small: 矮小
strong: 强壮
weak: 虚弱
smart: 聪明
kind: 善良
quiet: 安静
happy: 快乐
sad: 悲伤
tired: 疲倦
hungry: 饥饿
brave: 勇敢
lazy: 懒惰
fast: 敏捷
clean: 干净
dirty: 肮脏
careful: 谨慎
red: 红色
green: 绿色
white: 白色
""")
COLOURS = ("red", "green", "white")

VERBS = table("""
chase: 追赶
like: 喜欢
visit: 拜访
help: 帮助
fear: 害怕
know: 认识
protect: 保护
feed: 喂养
trust: 信任
avoid: 躲避
""")


class Chinese(Language):
    full_stop = "。"

    def clause(self, clause: Clause) -> str:
        return _subject(clause) + _predicate(clause)

    def conditional(self, conditions: Sequence[str], conclusion: str) -> str:
        return f"如果{'，而且'.join(conditions)}，那么{conclusion}"

    def generic(self, variable: str, attributes: Sequence[str], conclusion: str) -> str:
        had = "、".join(ATTRIBUTES[attribute][0] + "的" for attribute in attributes)
        return f"所有{had}{CROWDS[variable]}都{_attribute(conclusion, positive=True)}"


def _subject(clause: Clause) -> str:
    if clause.silent:
        return ""
    name = clause.fact.subject
    return MENTIONS[name][clause.mention] if name in VARIABLES else NOUNS[name][0]


def _predicate(clause: Clause) -> str:
    if clause.fact.object is None:
        return _attribute(clause.fact.predicate, clause.positive)
    verb = VERBS[clause.fact.predicate][0] + NOUNS[clause.fact.object][0]
    return verb if clause.positive else f"不{verb}"


def _attribute(attribute: str, positive: bool) -> str:
    (form,) = ATTRIBUTES[attribute]
    if attribute in COLOURS:
        return f"{'' if positive else '不'}是{form}的"
    return ("很" if positive else "不") + form
