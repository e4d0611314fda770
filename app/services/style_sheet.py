"""The style sheet of the application: what a palette can't express."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QFontDatabase

from gradwire.app.services.examples import ASSETS

if TYPE_CHECKING:
    from gradwire.app.services.theme import Theme


def sheet(theme: Theme, *, small: int, body: int, title: int) -> str:
    """The style sheet in the colours of ``theme``, with three sizes of text in px."""
    icons = (ASSETS / "icons").as_posix()
    fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    ground = "dark" if theme.dark else "light"

    def dot(colour: str) -> str:
        """The background of a chosen radio button."""
        stops = f"stop: 0.45 {colour}, stop: 0.55 {theme.field}"
        return f"qradialgradient(cx: 0.5, cy: 0.5, radius: 0.5, fx: 0.5, fy: 0.5, {stops})"

    return f"""
    QMenuBar, QMenu, QDockWidget, QToolTip, QMessageBox, QStatusBar, QPushButton, QToolButton {{
        font-size: {body}px;  /* some desktops use other fonts for these */
    }}
    QMainWindow::separator {{ background: {theme.hairline}; width: 1px; height: 1px; }}
    QToolBar {{ background: {theme.surface}; border: none; spacing: 1px; padding: 0; }}
    QStatusBar {{ background: {theme.surface}; border-top: 1px solid {theme.hairline}; }}
    QStatusBar::item {{ border: none; }}
    QDockWidget {{ titlebar-close-icon: url("{icons}/close_{ground}.svg"); }}
    QDockWidget::title {{ background: {theme.surface}; padding: 6px 8px; }}
    QToolTip {{ background: {theme.field}; color: {theme.ink};
                border: 1px solid {theme.hairline}; padding: 4px 6px; }}
    QLabel[type="caption"] {{ font-size: {small}px; }}
    QLabel[type="heading"] {{ font-size: {small}px; font-weight: bold; }}
    QLabel[type="strong"] {{ font-weight: bold; }}
    QLabel[type="reading"] {{ font-size: {body + 2}px; }}
    QLabel[type="title"] {{ font-size: {title}px; font-weight: bold; }}
    QMessageBox {{
        messagebox-information-icon: url("{icons}/information_{ground}.svg");
        messagebox-question-icon: url("{icons}/question_{ground}.svg");
        messagebox-warning-icon: url("{icons}/warning_{ground}.svg");
        messagebox-critical-icon: url("{icons}/critical_{ground}.svg");
    }}
    QLineEdit, QPlainTextEdit, QSpinBox {{
        background: {theme.field}; color: {theme.ink};
        border: 1px solid {theme.hairline}; border-radius: 4px; padding: 3px 5px;
        selection-background-color: {theme.accent}; selection-color: {theme.on_accent};
        placeholder-text-color: {theme.ink_faint};
    }}
    QPlainTextEdit[type="numbers"] {{
        font-family: "{fixed.family()}"; font-size: {body - 1}px;
    }}
    QLineEdit:focus, QPlainTextEdit:focus, QSpinBox:focus, QComboBox:focus {{
        border-color: {theme.accent};
    }}
    QLineEdit:disabled, QPlainTextEdit:disabled, QSpinBox:disabled, QComboBox:disabled {{
        background: {theme.surface}; color: {theme.ink_faint}; border-style: dotted;
    }}
    QSpinBox::up-button, QSpinBox::down-button {{ border: none; width: 18px; }}
    QSpinBox::up-arrow {{ image: url("{icons}/up_{ground}.svg"); width: 10px; height: 10px; }}
    QSpinBox::down-arrow {{ image: url("{icons}/down_{ground}.svg"); width: 10px; height: 10px; }}
    QSlider::groove:horizontal {{
        background: {theme.ink_faint}; height: 2px; border-radius: 1px;
    }}
    QSlider::handle:horizontal {{
        background: {theme.field}; border: 1px solid {theme.ink_soft}; border-radius: 6px;
        width: 10px; margin: -5px 0;
    }}
    QSlider::handle:horizontal:hover {{ background: {theme.accent_wash}; }}
    QSlider::handle:horizontal:focus {{ border: 2px solid {theme.accent}; width: 8px; }}
    QSlider::handle:horizontal:disabled {{
        background: {theme.surface}; border: 1px dotted {theme.ink_faint};
    }}
    QComboBox {{
        background: {theme.field}; border: 1px solid {theme.hairline}; border-radius: 4px;
        padding: 3px 5px;
    }}
    QComboBox::drop-down {{ border: none; width: 18px; }}
    QComboBox::down-arrow {{ image: url("{icons}/down_{ground}.svg"); width: 12px; height: 12px; }}
    QComboBox QAbstractItemView {{
        background: {theme.field}; border: 1px solid {theme.hairline}; outline: none;
        selection-background-color: {theme.accent_wash}; selection-color: {theme.ink};
    }}
    QPushButton {{
        background: {theme.field}; color: {theme.ink};
        border: 1px solid {theme.hairline}; border-radius: 4px; padding: 4px 14px;
    }}
    QPushButton:default, QPushButton:focus {{ border-color: {theme.accent}; }}
    QPushButton:hover {{ background: {theme.accent_wash}; }}
    QPushButton:pressed {{ background: {theme.accent}; color: {theme.on_accent}; }}
    QPushButton:disabled {{
        background: {theme.surface}; color: {theme.ink_faint}; border-style: dotted;
    }}
    QProgressBar {{
        background: {theme.field}; border: 1px solid {theme.hairline}; border-radius: 4px;
        max-height: 8px;
    }}
    QProgressBar::chunk {{ background: {theme.accent}; border-radius: 3px; }}
    QTreeWidget::item, BookmarksDialog QListWidget::item {{ padding: 3px 5px; }}
    QTreeWidget::item:selected, BookmarksDialog QListWidget::item:selected {{
        background: {theme.accent_wash}; color: {theme.ink};
    }}
    QCheckBox::indicator, QRadioButton::indicator {{
        background: {theme.field}; border: 1px solid {theme.ink_faint};
        width: 14px; height: 14px;
    }}
    QCheckBox::indicator {{ border-radius: 3px; }}
    QRadioButton::indicator {{ border-radius: 8px; }}
    QCheckBox::indicator:checked {{
        background: {theme.accent}; border-color: {theme.accent};
        image: url("{icons}/check_{ground}.svg");
    }}
    QRadioButton::indicator:checked {{
        background: {dot(theme.accent)}; border-color: {theme.accent};
    }}
    QCheckBox::indicator:focus, QRadioButton::indicator:focus {{
        border: 2px solid {theme.accent}; width: 12px; height: 12px;
    }}
    QCheckBox::indicator:checked:focus {{ border-color: {theme.ink}; }}
    QCheckBox::indicator:disabled, QRadioButton::indicator:disabled {{
        background: {theme.surface}; border: 1px dotted {theme.ink_faint};
    }}
    QCheckBox::indicator:checked:disabled {{ image: url("{icons}/tick_{ground}.svg"); }}
    QRadioButton::indicator:checked:disabled {{ background: {dot(theme.ink_faint)}; }}
    QTableView {{ background: {theme.field}; border: none; gridline-color: {theme.hairline}; }}
    QTableView::item {{ padding: 2px 5px; }}
    QTableView::item:selected {{ background: {theme.accent_wash}; color: {theme.ink}; }}
    QTableView QLineEdit {{ border-radius: 0; padding: 0 2px; border-color: {theme.accent}; }}
    QHeaderView {{ background: {theme.surface}; border: none; }}
    QHeaderView::section {{
        background: {theme.surface}; color: {theme.ink_soft}; font-size: {small}px;
        border: none; padding: 3px 8px;
    }}
    QHeaderView::section:horizontal {{ border-bottom: 1px solid {theme.hairline}; }}
    QTableCornerButton::section {{ background: {theme.surface}; border: none; }}
    QMenu {{
        background: {theme.surface}; border: 1px solid {theme.hairline}; padding: 4px;
    }}
    QMenu::item {{ padding: 4px 24px 4px 30px; border-radius: 4px; }}
    QMenu::item:selected {{ background: {theme.accent_wash}; color: {theme.ink}; }}
    QMenu::item:disabled {{ color: {theme.ink_faint}; }}
    QMenu::separator {{ background: {theme.hairline}; height: 1px; margin: 4px 8px; }}
    QMenu::indicator {{ width: 14px; height: 14px; left: 8px; }}
    QMenu::indicator:checked {{ image: url("{icons}/tick_{ground}.svg"); }}
    QMenu::right-arrow {{ image: url("{icons}/right_{ground}.svg"); width: 12px; height: 12px; }}
    ArrayTools::menu-indicator {{ image: none; }}
    #qt_dockwidget_closebutton {{ border: none; border-radius: 3px; }}
    #qt_dockwidget_closebutton:hover {{ background: {theme.accent_wash}; }}
    QToolButton[type="menu"] {{
        background: {theme.field}; border: 1px solid {theme.hairline}; border-radius: 4px;
        padding: 3px 22px 3px 8px; color: {theme.ink};
    }}
    QToolButton[type="menu"]:hover, QToolButton[type="menu"]:focus {{
        border-color: {theme.accent};
    }}
    QToolButton[type="menu"]:disabled {{ color: {theme.ink_faint}; }}
    QToolButton[type="menu"]::menu-indicator {{
        image: url("{icons}/down_{ground}.svg"); width: 12px; height: 12px;
        subcontrol-origin: padding; subcontrol-position: center right; right: 6px;
    }}
    QToolButton[type="switch"] {{
        border: 1px solid {theme.hairline}; border-radius: 4px; padding: 1px 7px;
        color: {theme.ink_soft}; font-size: {small}px;
    }}
    QToolButton[type="switch"]:checked {{ background: {theme.accent_wash}; color: {theme.ink}; }}
    QToolButton[type="switch"]:focus {{ border-color: {theme.accent}; }}
    QToolButton[type="switch"]:disabled {{ color: {theme.ink_faint}; border-style: dotted; }}
    #tools {{ border-bottom: 1px solid {theme.hairline}; padding: 2px 6px; spacing: 2px; }}
    #tools QToolButton {{
        border: 1px solid transparent; border-radius: 5px; padding: 3px 8px; color: {theme.ink};
    }}
    #tools QToolButton:hover {{ background: {theme.accent_wash}; }}
    #tools QToolButton:focus {{ border-color: {theme.accent}; }}
    #tools QToolButton:pressed {{ background: {theme.accent}; color: {theme.on_accent}; }}
    #tools QToolButton:disabled {{ color: {theme.ink_faint}; }}
    #tools QToolButton::menu-indicator {{ image: none; }}
    QToolBar[type="edge"] QToolButton {{
        border: none; border-radius: 4px; padding: 1px 8px; color: {theme.ink_soft};
    }}
    QToolBar[type="edge"] QToolButton:hover, QToolBar[type="edge"] QToolButton:focus {{
        background: {theme.accent_wash}; color: {theme.ink};
    }}
    QTabBar {{ background: {theme.surface}; qproperty-drawBase: 0; }}
    QTabBar::tab {{
        background: {theme.surface}; color: {theme.ink_soft};
        border: none; border-top: 2px solid transparent; padding: 5px 12px;
    }}
    QTabBar::tab:selected {{ color: {theme.ink}; border-top-color: {theme.accent}; }}
    QTabBar::tab:hover {{ color: {theme.ink}; }}
    QScrollBar {{ background: transparent; margin: 0; }}
    QScrollBar:vertical {{ width: 10px; }}
    QScrollBar:horizontal {{ height: 10px; }}
    QScrollBar::handle {{ background: {theme.hairline}; border-radius: 3px; margin: 2px; }}
    QScrollBar::handle:hover {{ background: {theme.ink_faint}; }}
    QScrollBar::handle:vertical {{ min-height: 28px; }}
    QScrollBar::handle:horizontal {{ min-width: 28px; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
    """
