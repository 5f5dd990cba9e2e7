; shared 2048
; ModuleID = "kernel"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6")
{
entry:
  %".8" = inttoptr i64 %".2" to float addrspace(1)*
  %".9" = inttoptr i64 %".3" to float addrspace(1)*
  %".10" = inttoptr i64 %".4" to float addrspace(1)*
  %".23" = alloca double
  %".24" = alloca float
  %".86" = alloca double
  %".87" = alloca float
  br label %"body"
body:
  %".11" = call i64 @"thread"()
  %".12" = call i64 @"threads"()
  %".13" = and i64 %".11", 31
  %".14" = lshr i64 %".12", 5
  %".15" = lshr i64 %".11", 5
  %".16" = mul i64 %".1", 32
  %".17" = add i64 %".16", %".13"
  %".18" = icmp slt i64 %".17", %".5"
  %".19" = sub i64 %".5", 1
  %".20" = select  i1 %".18", i64 %".17", i64 %".19"
  %".21" = icmp eq i64 %".15", 0
  %".22" = and i1 %".18", %".21"
  store double              0x0, double* %".23"
  %".26" = mul i64 %".14", 1024
  br label %"head"
head:
  %".28" = phi  i64 [0, %"body"], [%".54", %"after.1"]
  %".29" = icmp slt i64 %".28", %".6"
  br i1 %".29", label %"loop", label %"after"
loop:
  store float              0x0, float* %".24"
  %".32" = add i64 %".28", %".15"
  %".33" = add i64 %".28", %".26"
  %".34" = icmp slt i64 %".33", %".6"
  %".35" = select  i1 %".34", i64 %".33", i64 %".6"
  br label %"head.1"
after:
  %".56" = and i64 %".11", 31
  %".57" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".58" = bitcast i8 addrspace(3)* %".57" to double addrspace(3)*
  br i1 1, label %"after.if", label %"after.endif"
head.1:
  %".37" = phi  i64 [%".32", %"loop"], [%".47", %"loop.1"]
  %".38" = icmp slt i64 %".37", %".35"
  br i1 %".38", label %"loop.1", label %"after.1"
loop.1:
  %".40" = mul nsw i64 %".5", %".37"
  %".41" = add nsw i64 %".20", %".40"
  %".42" = getelementptr float, float addrspace(1)* %".8", i64 %".41"
  %".43" = load float, float addrspace(1)* %".42", !alias.scope !4, !noalias !5
  %".44" = load float, float* %".24"
  %".45" = fadd reassoc float %".44", %".43"
  store float %".45", float* %".24"
  %".47" = add nsw i64 %".37", %".14"
  br label %"head.1"
after.1:
  %".49" = load float, float* %".24"
  %".50" = fpext float %".49" to double
  %".51" = load double, double* %".23"
  %".52" = fadd double %".51", %".50"
  store double %".52", double* %".23"
  %".54" = add nsw i64 %".28", %".26"
  br label %"head"
after.if:
  %".60" = load double, double* %".23"
  %".61" = getelementptr double, double addrspace(3)* %".58", i64 %".11"
  store double %".60", double addrspace(3)* %".61"
  br label %"after.endif"
after.endif:
  call void @"barrier"()
  %".65" = mul i64 0, 32
  %".66" = add i64 %".56", %".65"
  %".67" = getelementptr double, double addrspace(3)* %".58", i64 %".66"
  %".68" = load double, double addrspace(3)* %".67"
  store double %".68", double* %".23"
  br label %"head.2"
head.2:
  %".71" = phi  i64 [1, %"after.endif"], [%".81", %"loop.2"]
  %".72" = icmp slt i64 %".71", %".14"
  br i1 %".72", label %"loop.2", label %"after.2"
loop.2:
  %".74" = mul i64 %".71", 32
  %".75" = add i64 %".56", %".74"
  %".76" = getelementptr double, double addrspace(3)* %".58", i64 %".75"
  %".77" = load double, double addrspace(3)* %".76"
  %".78" = load double, double* %".23"
  %".79" = fadd double %".78", %".77"
  store double %".79", double* %".23"
  %".81" = add nsw i64 %".71", 1
  br label %"head.2"
after.2:
  call void @"barrier"()
  %".84" = load double, double* %".23"
  %".85" = fptrunc double %".84" to float
  store double              0x0, double* %".86"
  %".89" = mul i64 %".14", 1024
  br label %"head.3"
head.3:
  %".91" = phi  i64 [0, %"after.2"], [%".118", %"after.4"]
  %".92" = icmp slt i64 %".91", %".6"
  br i1 %".92", label %"loop.3", label %"after.3"
loop.3:
  store float              0x0, float* %".87"
  %".95" = add i64 %".91", %".15"
  %".96" = add i64 %".91", %".89"
  %".97" = icmp slt i64 %".96", %".6"
  %".98" = select  i1 %".97", i64 %".96", i64 %".6"
  br label %"head.4"
after.3:
  %".120" = and i64 %".11", 31
  %".121" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".122" = bitcast i8 addrspace(3)* %".121" to double addrspace(3)*
  br i1 1, label %"after.3.if", label %"after.3.endif"
head.4:
  %".100" = phi  i64 [%".95", %"loop.3"], [%".111", %"loop.4"]
  %".101" = icmp slt i64 %".100", %".98"
  br i1 %".101", label %"loop.4", label %"after.4"
loop.4:
  %".103" = mul nsw i64 %".5", %".100"
  %".104" = add nsw i64 %".20", %".103"
  %".105" = getelementptr float, float addrspace(1)* %".8", i64 %".104"
  %".106" = load float, float addrspace(1)* %".105", !alias.scope !4, !noalias !5
  %".107" = fmul float %".106", %".106"
  %".108" = load float, float* %".87"
  %".109" = fadd reassoc float %".108", %".107"
  store float %".109", float* %".87"
  %".111" = add nsw i64 %".100", %".14"
  br label %"head.4"
after.4:
  %".113" = load float, float* %".87"
  %".114" = fpext float %".113" to double
  %".115" = load double, double* %".86"
  %".116" = fadd double %".115", %".114"
  store double %".116", double* %".86"
  %".118" = add nsw i64 %".91", %".89"
  br label %"head.3"
after.3.if:
  %".124" = load double, double* %".86"
  %".125" = getelementptr double, double addrspace(3)* %".122", i64 %".11"
  store double %".124", double addrspace(3)* %".125"
  br label %"after.3.endif"
after.3.endif:
  call void @"barrier"()
  %".129" = mul i64 0, 32
  %".130" = add i64 %".120", %".129"
  %".131" = getelementptr double, double addrspace(3)* %".122", i64 %".130"
  %".132" = load double, double addrspace(3)* %".131"
  store double %".132", double* %".86"
  br label %"head.5"
head.5:
  %".135" = phi  i64 [1, %"after.3.endif"], [%".145", %"loop.5"]
  %".136" = icmp slt i64 %".135", %".14"
  br i1 %".136", label %"loop.5", label %"after.5"
loop.5:
  %".138" = mul i64 %".135", 32
  %".139" = add i64 %".120", %".138"
  %".140" = getelementptr double, double addrspace(3)* %".122", i64 %".139"
  %".141" = load double, double addrspace(3)* %".140"
  %".142" = load double, double* %".86"
  %".143" = fadd double %".142", %".141"
  store double %".143", double* %".86"
  %".145" = add nsw i64 %".135", 1
  br label %"head.5"
after.5:
  call void @"barrier"()
  %".148" = load double, double* %".86"
  %".149" = fptrunc double %".148" to float
  br i1 %".22", label %"after.5.if", label %"after.5.endif"
after.5.if:
  %".151" = getelementptr float, float addrspace(1)* %".9", i64 %".20"
  store float %".85", float addrspace(1)* %".151", !alias.scope !6, !noalias !7
  br label %"after.5.endif"
after.5.endif:
  br i1 %".22", label %"after.5.endif.if", label %"after.5.endif.endif"
after.5.endif.if:
  %".155" = getelementptr float, float addrspace(1)* %".10", i64 %".20"
  store float %".149", float addrspace(1)* %".155", !alias.scope !8, !noalias !9
  br label %"after.5.endif.endif"
after.5.endif.endif:
  ret void
}

@"shared" = external addrspace(3) global [0 x i8]
declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

declare void @"warp_barrier"()

declare i32 @"shuffle"(i32 %".1", i32 %".2")

define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
{
entry:
  %".7" = call i64 @"threads"()
  %".8" = sub i64 32, 1
  %".9" = add i64 %".4", %".8"
  %".10" = udiv i64 %".9", 32
  ret i64 %".10"
}

!0 = !{ !"mindlite" }
!1 = !{ !"argument 0", !0 }
!2 = !{ !"argument 1", !0 }
!3 = !{ !"argument 2", !0 }
!4 = !{ !1 }
!5 = !{ !2, !3 }
!6 = !{ !2 }
!7 = !{ !1, !3 }
!8 = !{ !3 }
!9 = !{ !1, !2 }